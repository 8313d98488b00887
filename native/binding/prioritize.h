#pragma once

#include <napi.h>

namespace workspace::binding {

/** prioritize(niceness: number): boolean. False where the system does not allow or know it. */
Napi::Value prioritize(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
