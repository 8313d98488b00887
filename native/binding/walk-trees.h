#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * walkTrees(paths: string[], threads: number, extentsFromBytes: number): {done, seen, cancel}. Works on separate
 * threads. `done` resolves with {sharedBytes, trees}, where each tree is {files, directories, logicalBytes,
 * physicalBytes, unreadable, firstUnreadable} or an Error; `seen()` counts the entries so far, and `cancel()` rejects
 * `done` with ECANCELED soon. Termination of the calling thread cancels as well. threads 0: the library decides.
 */
Napi::Value walkTrees(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
