#pragma once

#include <napi.h>

namespace workspace::binding {

/** prioritize(niceness: number): boolean. Returns false if the system does not allow or support it. */
Napi::Value prioritize(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
