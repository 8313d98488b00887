#pragma once

#include <span>

namespace workspace::pipe {

struct Pipe {
  int reader = -1;
  int writer = -1;
};

/**
 * Makes a pipe for a program of another user, who may open it anew by way of /dev/stdin and its like, with room for so many
 * bytes where the system grants it. Returns 0 or the error number.
 */
int make(int capacityBytes, Pipe& made);

/** Passes up to four descriptors on over a Unix socket, with one byte. Returns 0 or the error number. */
int send(int socket, std::span<const int> descriptors);

}  // namespace workspace::pipe
