#include "dial.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

namespace workspace::netns {

namespace {

Dialled failure(const char* syscall, int fd = -1) {
  Dialled result;
  result.number = errno;
  result.syscall = syscall;
  if (fd >= 0) close(fd);
  return result;
}

/** A socket stays in the namespace that it was made in; only making it needs the thread to be there. */
Dialled makeSocket(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return failure("socket");
  Dialled result;
  result.fd = fd;
  return result;
}

Dialled await(int fd, int timeoutMs) {
  pollfd waiting{fd, POLLOUT, 0};
  int ready;
  do {
    ready = poll(&waiting, 1, timeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return failure("poll", fd);
  if (ready == 0) {
    errno = ETIMEDOUT;
    return failure("connect", fd);
  }
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return failure("getsockopt", fd);
  if (error != 0) {
    errno = error;
    return failure("connect", fd);
  }
  Dialled result;
  result.fd = fd;
  return result;
}

Dialled connectTo(int family, std::uint16_t port, int timeoutMs) {
  const Dialled made = makeSocket(family);
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
  if (connect(made.fd, reinterpret_cast<const sockaddr*>(&address), size) == 0) return made;
  if (errno != EINPROGRESS) return failure("connect", made.fd);
  return await(made.fd, timeoutMs);
}

Dialled dialFrom(const std::string& namespacePath, std::uint16_t port, int timeoutMs) {
  const int handle = open(namespacePath.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return failure("open");
  if (setns(handle, CLONE_NEWNET) != 0) return failure("setns", handle);
  close(handle);
  const Dialled ipv4 = connectTo(AF_INET, port, timeoutMs);
  if (ipv4.number == 0) return ipv4;
  const Dialled ipv6 = connectTo(AF_INET6, port, timeoutMs);
  // Where neither answers, what the first said is what the user can act on.
  return ipv6.number == 0 ? ipv6 : ipv4;
}

}  // namespace

Dialled dialLoopback(const std::string& namespacePath, std::uint16_t port, int timeoutMs) {
  Dialled result;
  std::thread([&] { result = dialFrom(namespacePath, port, timeoutMs); }).join();
  return result;
}

}  // namespace workspace::netns

#else

namespace workspace::netns {

Dialled dialLoopback(const std::string&, std::uint16_t, int) {
  Dialled result;
  result.number = ENOSYS;
  result.syscall = "setns";
  return result;
}

}  // namespace workspace::netns

#endif
