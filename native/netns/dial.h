#pragma once

#include <cstdint>
#include <string>

namespace workspace::netns {

/** A socket, or what went wrong; `number` is the errno, 0 for success. */
struct Dialled {
  int fd = -1;
  /** Whether the connection is still being made: the descriptor is writable when that has ended. */
  bool isPending = false;
  int number = 0;
  std::string syscall;
};

/** A process that is expected to be a container's. */
struct Expected {
  int pid = 0;
  /** What the process's control groups must name, such as the container's id. */
  std::string group;
};

/**
 * Begins to connect to `port` on the loopback address of a process's network namespace, 127.0.0.1 first, ::1 when that is refused, and waits
 * for nothing. The namespace is opened first and the process checked after: a number that another process got meanwhile is refused with
 * ESRCH. Works in a thread of its own, because a namespace belongs to a thread and one that cannot be left again must die with it. Needs
 * CAP_SYS_ADMIN; ENOSYS where there are no namespaces.
 */
Dialled beginDial(const Expected& process, std::uint16_t port);

/** Returns how a pending connection has ended. Takes the descriptor; a socket that is connected with itself is refused. */
Dialled finishDial(int fd);

}  // namespace workspace::netns
