#pragma once

#include <napi.h>

#include <string>

namespace workspace::binding {

/** An Error like those of node:fs: `code` ('ENOENT'), `errno` (negative), `syscall`, `path`. */
Napi::Error systemError(Napi::Env env, int number, const std::string& syscall, const std::string& path);

}  // namespace workspace::binding
