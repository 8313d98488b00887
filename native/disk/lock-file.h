#pragma once

namespace workspace::disk {

/**
 * Takes the lock on an open file for this open description of it, alone or shared with others, and waits for nobody.
 * Returns 0, EWOULDBLOCK where another has it, or another errno. Source: flock(2).
 */
int lockFile(int fd, bool isShared);

}  // namespace workspace::disk
