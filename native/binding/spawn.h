#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * spawnProgram(argv: string[], environment: string[], directory: string, output: number, error: number,
 *   user: [uid, gid, ...groups] | null, limits: number[] (resource, value, …), cgroup: string,
 *   isTerminal: boolean): number. Its id; throws like node:child_process (`ENOENT` …), with the call that failed.
 */
Napi::Value spawnProgram(const Napi::CallbackInfo& info);

/** setSubreaper(isSubreaper): boolean. Whether this process now is, or is not, the parent of its descendants' orphans. */
Napi::Value setSubreaper(const Napi::CallbackInfo& info);

/** reapChild(pid: number): boolean. Reaps an exited child; returns whether there was one. */
Napi::Value reapChild(const Napi::CallbackInfo& info);

/** sendDatagram(socket: string, bytes: Uint8Array): void. Does not wait; throws like node:net (`EPROTOTYPE` …). */
Napi::Value sendDatagram(const Napi::CallbackInfo& info);

/** notifyManager(socket: string, text: string): void. Throws like node:net (`ENOENT` …). */
Napi::Value notifyManager(const Napi::CallbackInfo& info);

/** class ExitWatch: new ExitWatch(onExit: (pid, code, signal) => void), add(pid): void, close(): void. */
Napi::Function defineExitWatch(Napi::Env env);

}  // namespace workspace::binding
