#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * punchHoles(fd: number, stretches: Float64Array): {done, seen, cancel}. Two numbers a stretch, offset and bytes; done is a promise
 * of nothing, rejected with a system error where the file system cannot.
 */
Napi::Value punchHoles(const Napi::CallbackInfo& info);

/** collapseFront(fd: number, bytes: number): {done, seen, cancel}; as above. */
Napi::Value collapseFront(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
