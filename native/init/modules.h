#pragma once

namespace workspace::init {

/**
 * Loads the kernel modules listed in a file, one path per line, in order. Reports and skips a module that fails to
 * load.
 */
void loadModules(const char* list);

}  // namespace workspace::init
