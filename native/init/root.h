#pragma once

namespace workspace::init {

/** Moves into a new root and frees what this program came with. Fails the start when it cannot. */
void enterRoot(const char* root);

}  // namespace workspace::init
