#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * readExtents(path: string, container: Float64Array, extents: Float64Array): Promise<{buffer, faults}>. An extent is six
 * numbers: offset, stored bytes, bytes, method (0 or 8), whether a local header stands before it, CRC-32 or -1. `container` is one
 * of them, or empty: the extents are then inside what it gives. No byte of a class file crosses to JavaScript.
 */
Napi::Value readExtents(const Napi::CallbackInfo& info);

/** readFiles(paths: string[]): Promise<{buffer, faults}>. Each is one class file. */
Napi::Value readFiles(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
