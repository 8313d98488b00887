#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * walkTrees(paths: string[], threads: number, extentsFromBytes: number, rememberAt: number): {done, seen, cancel}.
 * Works on separate threads. With `rememberAt`, a time in seconds since 1970, files that have not changed since an
 * earlier walk of this process are not asked for their extents again; 0: all are. `done` resolves with {sharedBytes,
 * askedFiles, trees}, where each tree is {files, directories, logicalBytes,
 * physicalBytes, unreadable, firstUnreadable} or an Error; `seen()` counts the entries so far, and `cancel()` rejects
 * `done` with ECANCELED soon. Termination of the calling thread cancels as well. threads 0: the library decides.
 */
Napi::Value walkTrees(const Napi::CallbackInfo& info);

/** saveExtents(now: number): Buffer | null. Everything that is remembered, for another process; null if little of it is new. */
Napi::Value saveExtents(const Napi::CallbackInfo& info);

/** restoreExtents(saved: Uint8Array): boolean. False if it is damaged: then nothing of it is remembered. */
Napi::Value restoreExtents(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
