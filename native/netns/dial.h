#pragma once

#include <cstdint>
#include <string>

namespace workspace::netns {

/** A connected socket, or what went wrong; `number` is the errno, 0 for success. */
struct Dialled {
  int fd = -1;
  int number = 0;
  std::string syscall;
};

/**
 * Connects to `port` on the loopback address of the network namespace that `namespacePath` names
 * (`/proc/<pid>/ns/net`): 127.0.0.1 first, ::1 when nothing listens there. Works in a thread of its own, because a
 * namespace belongs to a thread and one that cannot be left again must die with it. Needs CAP_SYS_ADMIN; ENOSYS where
 * there are no namespaces.
 *
 * @param timeoutMs how long one connection may take
 */
Dialled dialLoopback(const std::string& namespacePath, std::uint16_t port, int timeoutMs);

}  // namespace workspace::netns
