#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * punchHoles(fd: number, stretches: Float64Array): {done, seen, cancel}. Two numbers per stretch, offset and bytes.
 * `done` resolves with nothing, or rejects with a system error if the file system does not support it.
 */
Napi::Value punchHoles(const Napi::CallbackInfo& info);

/** collapseFront(fd: number, bytes: number): {done, seen, cancel}; as above. */
Napi::Value collapseFront(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
