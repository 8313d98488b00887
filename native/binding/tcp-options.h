#pragma once

#include <napi.h>

namespace workspace::binding {

/** setUserTimeout(fd: number, timeoutMs: number): boolean. False where the socket or the system does not know it. */
Napi::Value setUserTimeout(const Napi::CallbackInfo& info);

/** acknowledgeNow(fd: number): boolean. False where the socket or the system does not know it. */
Napi::Value acknowledgeNow(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
