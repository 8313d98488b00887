#pragma once

#include <string>

namespace workspace::init {

/**
 * Mounts the upper disk. One whose first 64 KiB are zero is formatted before, where the kernel was told that it never was
 * (`workspace.format=1`); all others are left as they are. Fails the start when it cannot be mounted.
 */
void mountUpper(const std::string& disk, const char* target);

}  // namespace workspace::init
