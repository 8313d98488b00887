#pragma once

#include <napi.h>

namespace workspace::binding {

/** silenceMs(fd: number): number. Returns -1 if the socket or the system does not support it. */
Napi::Value silenceMs(const Napi::CallbackInfo& info);

/** limitBackoff(fd: number, limitMs: number): boolean. Returns false if the socket or the system does not support it. */
Napi::Value limitBackoff(const Napi::CallbackInfo& info);

/** acknowledgeNow(fd: number): boolean. Returns false if the socket or the system does not support it. */
Napi::Value acknowledgeNow(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
