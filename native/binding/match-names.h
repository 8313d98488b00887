#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * matchNames(bytes: Uint8Array, offsets: Int32Array, ids: Int32Array, pattern: string, part: number): Uint8Array. Name
 * i is the bytes from offsets[i] to offsets[i + 1]. The result has a byte for each name: 1 if it is among the ids and
 * matches.
 */
Napi::Value matchNames(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
