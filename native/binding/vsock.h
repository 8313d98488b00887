#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * listenVsock(port: number, onConnection: (fd: number, peer: number) => void): number. Each connection is relayed
 * through a Unix socket. Returns the argument of `stopVsock`; throws like node:net (`EADDRINUSE` …).
 */
Napi::Value listenVsock(const Napi::CallbackInfo& info);

/** stopVsock(listener: number): void. */
Napi::Value stopVsock(const Napi::CallbackInfo& info);

/** connectVsock(cid: number, port: number, timeoutMs: number): Promise<number>. A Unix socket that relays it. */
Napi::Value connectVsock(const Napi::CallbackInfo& info);

/** openDevice(path: string): number. A Unix socket that relays it; throws like node:fs (`ENOENT` …). */
Napi::Value openDevice(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
