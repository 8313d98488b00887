#pragma once

namespace workspace::init {

/** Loads the kernel modules that a file lists, a path a line, in its order. One that does not load is told and left out. */
void loadModules(const char* list);

}  // namespace workspace::init
