#pragma once

#include <napi.h>

namespace workspace::binding {

/** lockFile(fd: number, isShared: boolean): boolean. False where another has the lock; throws where there can be none. */
Napi::Value lockFile(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
