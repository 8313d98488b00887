#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * dialLoopback(pid: number, group: string, port: number, timeoutMs: number): Promise<number>. Resolves with the descriptor of a connected
 * socket, which belongs to the caller. Rejects with {code, errno, syscall}; ETIMEDOUT after timeoutMs. Waits on the event loop, not on a
 * thread: connections that nobody accepts hold up nothing else.
 */
Napi::Value dialLoopback(const Napi::CallbackInfo& info);

/**
 * bindLoopback(pid: number, group: string, port: number): number. Returns the descriptor of a bound socket, which belongs to the caller.
 * Throws {code, errno, syscall}. Blocks for microseconds, while another thread is in the namespace.
 */
Napi::Value bindLoopback(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
