#include "dial.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

namespace workspace::netns {

namespace {

DialResult failure(const char* syscall, int fd = -1) {
  DialResult result;
  result.number = errno;
  result.syscall = syscall;
  if (fd >= 0) close(fd);
  return result;
}

/** A socket belongs to the namespace in which it was created; only the creation requires the thread to be there. */
DialResult makeSocket(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failure("socket");
  DialResult result;
  result.fd = fd;
  return result;
}

DialResult connectTo(int family, std::uint16_t port) {
  DialResult made = makeSocket(family);
  if (made.number != 0) return made;
  sockaddr_storage address{};
  socklen_t size = 0;
  if (family == AF_INET) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address);
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    ipv4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    size = sizeof ipv4;
  } else {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address);
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    ipv6.sin6_addr = in6addr_loopback;
    size = sizeof ipv6;
  }
  if (connect(made.fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return finishDial(made.fd);
  if (errno != EINPROGRESS) return failure("connect", made.fd);
  made.isPending = true;
  return made;
}

/** Whether a process belongs to a control group of this name. Source: proc(5), /proc/PID/cgroup. */
bool isIn(const std::string& group, int pid) {
  const int file = open(("/proc/" + std::to_string(pid) + "/cgroup").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string text;
  char chunk[4096];
  ssize_t count = 0;
  while ((count = read(file, chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<std::size_t>(count));
  close(file);
  return text.find(group) != std::string::npos;
}

/** Moves this thread into the process's network namespace; `number` is 0 for success. */
DialResult enter(const Expected& process) {
  const std::string path = "/proc/" + std::to_string(process.pid) + "/ns/net";
  const int handle = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return failure("open");
  if (!isIn(process.group, process.pid)) {
    errno = ESRCH;
    return failure("open", handle);
  }
  if (setns(handle, CLONE_NEWNET) != 0) return failure("setns", handle);
  close(handle);
  return {};
}

DialResult bindFrom(const Expected& process, std::uint16_t port) {
  const DialResult entered = enter(process);
  if (entered.number != 0) return entered;
  DialResult made = makeSocket(AF_INET);
  if (made.number != 0) return made;
  // Connections of an earlier listener may still be in TIME_WAIT.
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (setsockopt(made.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return failure("setsockopt", made.fd);
  if (bind(made.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return failure("bind", made.fd);
  return made;
}

DialResult dialFrom(const Expected& process, std::uint16_t port) {
  const DialResult entered = enter(process);
  if (entered.number != 0) return entered;
  const DialResult ipv4 = connectTo(AF_INET, port);
  if (ipv4.number == 0) return ipv4;
  const DialResult ipv6 = connectTo(AF_INET6, port);
  // If neither responds, the user can act on the first error.
  return ipv6.number == 0 ? ipv6 : ipv4;
}

}  // namespace

DialResult beginDial(const Expected& process, std::uint16_t port) {
  DialResult result;
  std::thread([&] { result = dialFrom(process, port); }).join();
  return result;
}

DialResult bindLoopback(const Expected& process, std::uint16_t port) {
  DialResult result;
  std::thread([&] { result = bindFrom(process, port); }).join();
  return result;
}

DialResult finishDial(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return failure("getsockopt", fd);
  sockaddr_storage own{};
  sockaddr_storage peer{};
  socklen_t ownSize = sizeof own;
  socklen_t peerSize = sizeof peer;
  if (error == 0 && (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &ownSize) != 0 || getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peerSize) != 0)) error = errno;
  // A connection from an ephemeral port to the same free port connects to itself.
  if (error == 0 && ownSize == peerSize && std::memcmp(&own, &peer, ownSize) == 0) error = ECONNREFUSED;
  if (error != 0) {
    errno = error;
    return failure("connect", fd);
  }
  DialResult result;
  result.fd = fd;
  return result;
}

}  // namespace workspace::netns

#else

namespace workspace::netns {

DialResult beginDial(const Expected&, std::uint16_t) {
  DialResult result;
  result.number = ENOSYS;
  result.syscall = "setns";
  return result;
}

DialResult bindLoopback(const Expected&, std::uint16_t) { return beginDial({}, 0); }

DialResult finishDial(int) { return beginDial({}, 0); }

}  // namespace workspace::netns

#endif
