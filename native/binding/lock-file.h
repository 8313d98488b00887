#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * lockFile(fd: number, isShared: boolean): boolean. Returns false if another holds the lock; throws if locking is
 * impossible.
 */
Napi::Value lockFile(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
