#pragma once

#include <napi.h>

namespace workspace::binding {

/** makeFifo(path: string, mode: number): void. Throws like node:fs (`EEXIST` …). */
Napi::Value makeFifo(const Napi::CallbackInfo& info);

/** setPipeCapacity(fd: number, bytes: number): boolean. False where the system refuses or does not know it. */
Napi::Value setPipeCapacity(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
