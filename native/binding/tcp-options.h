#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * setUserTimeout(fd: number, timeoutMs: number): boolean. Returns false if the socket or the system does not support
 * it.
 */
Napi::Value setUserTimeout(const Napi::CallbackInfo& info);

/** acknowledgeNow(fd: number): boolean. Returns false if the socket or the system does not support it. */
Napi::Value acknowledgeNow(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
