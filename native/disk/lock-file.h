#pragma once

namespace workspace::disk {

/**
 * Locks an open file for its open file description, exclusively or shared, without waiting. Returns 0, EWOULDBLOCK if
 * another holds the lock, or another errno. Source: flock(2).
 */
int lockFile(int fd, bool isShared);

}  // namespace workspace::disk
