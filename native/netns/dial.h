#pragma once

#include <cstdint>
#include <string>

namespace workspace::netns {

/** A socket, or an error; `number` is the errno, 0 for success. */
struct DialResult {
  int fd = -1;
  /** Whether the connection is still pending: the descriptor becomes writable when it is decided. */
  bool isPending = false;
  int number = 0;
  std::string syscall;
};

/** A process expected to belong to a container. */
struct Expected {
  int pid = 0;
  /** Text that the process's control groups must contain, such as the container's id. */
  std::string group;
};

/**
 * Starts a connection to `port` on the loopback address of a process's network namespace, 127.0.0.1 first, ::1 if
 * that is refused, without waiting. Opens the namespace first and checks the process afterwards: if the id was reused
 * meanwhile, fails with ESRCH. Uses a separate thread, because a namespace belongs to a thread, and one that cannot
 * leave it must terminate. Needs CAP_SYS_ADMIN; ENOSYS on systems without namespaces.
 */
DialResult beginDial(const Expected& process, std::uint16_t port);

/**
 * Returns the outcome of a pending connection. Takes ownership of the descriptor; refuses a socket connected to
 * itself.
 */
DialResult finishDial(int fd);

/**
 * Returns a socket bound to `port` on 127.0.0.1 of a process's network namespace, ready to listen. Checks the process
 * and fails as beginDial does; EADDRINUSE when a program there uses the port.
 */
DialResult bindLoopback(const Expected& process, std::uint16_t port);

}  // namespace workspace::netns
