#pragma once

#include <span>

namespace workspace::pipe {

struct Pipe {
  int reader = -1;
  int writer = -1;
};

/**
 * Creates a pipe for a program of another user, which may reopen it through /dev/stdin and similar paths, with the
 * given capacity if the system grants it. Returns 0 or the errno.
 */
int make(int capacityBytes, Pipe& made);

/** Sends up to four descriptors over a Unix socket, with one byte. Returns 0 or the errno. */
int send(int socket, std::span<const int> descriptors);

}  // namespace workspace::pipe
