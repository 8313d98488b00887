#pragma once

#include <napi.h>

namespace workspace::binding {

/**
 * walkTree(path: string, threads: number): {files, directories, logicalBytes, physicalBytes, unreadable,
 * firstUnreadable}. Works on the calling thread until the tree is done. threads 0: the library decides.
 */
Napi::Value walkTree(const Napi::CallbackInfo& info);

}  // namespace workspace::binding
