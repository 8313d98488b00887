#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * makePipe(capacityBytes: number): [number, number]. The descriptors of its two ends, reader first; the caller must
 * close them.
 */
Napi::Value makePipe(const Napi::CallbackInfo& info);

/** sendDescriptors(socket: number, descriptors: number[]): void. Throws like node:net (`EPIPE` …). */
Napi::Value sendDescriptors(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
