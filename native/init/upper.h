#pragma once

#include <string>

namespace workspace::init {

/**
 * Mounts the upper disk. Formats it first if its first 64 KiB are zero and the kernel argument `workspace.format=1`
 * states that it was never formatted; leaves all others unchanged. Fails the start if it cannot be mounted.
 */
void mountUpper(const std::string& disk, const char* target);

}  // namespace workspace::init
