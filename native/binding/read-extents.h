#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * readExtents(path: string, container: Float64Array, extents: Float64Array, names: string[], withDigest: boolean):
 * Promise<{buffer, digest, diagnostics}>. An extent is six numbers: offset, stored bytes, bytes, method (0 or 8), whether
 * a local header precedes it, CRC-32 or -1; its class must have the internal name beside it.
 * `container` is one extent, or empty: the extents are then inside its inflated data. No byte of a class file crosses
 * to JavaScript.
 */
Napi::Value readExtents(const Napi::CallbackInfo& info);

/**
 * openNestedArchive(path: string, extent: Float64Array): number. Inflates an archive inside a file, once for all
 * threads, and keeps it until closeNestedArchive(number). Waits for memory: a thread may have only one open. Throws
 * Error with a message.
 */
Napi::Value openNestedArchive(const Napi::CallbackInfo& info);

/** readNestedArchive(number, offset: number, count: number): Buffer, a copy. */
Napi::Value readNestedArchive(const Napi::CallbackInfo& info);

Napi::Value closeNestedArchive(const Napi::CallbackInfo& info);

/** readFiles(paths: string[]): Promise<{buffer, diagnostics}>. Each is one class file. */
Napi::Value readFiles(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
