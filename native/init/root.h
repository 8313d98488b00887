#pragma once

namespace workspace::init {

/** Switches to a new root and frees the memory of the initrd. Fails the start on errors. */
void enterRoot(const char* root);

}  // namespace workspace::init
