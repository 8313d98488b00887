#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * dialLoopback(namespacePath: string, port: number, timeoutMs: number): Promise<number>. Resolves with the descriptor
 * of a connected, non-blocking socket, which is the caller's to close; rejects like node:net (`ECONNREFUSED` …).
 */
Napi::Value dialLoopback(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
