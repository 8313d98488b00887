#include "notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

namespace workspace::notify {

namespace {

// Where the system can, a program started by another thread does not inherit the socket.
#ifdef SOCK_CLOEXEC
constexpr int DATAGRAM = SOCK_DGRAM | SOCK_CLOEXEC;
#else
constexpr int DATAGRAM = SOCK_DGRAM;
#endif

}  // namespace

int send(std::string_view socket, std::string_view text, Wait wait) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return EINVAL;
  std::copy(socket.begin(), socket.end(), address.sun_path);
  if (socket.front() == '@') address.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, DATAGRAM, 0);
  if (fd < 0) return errno;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket.size());
  const int flags = wait == Wait::no ? MSG_DONTWAIT : 0;
  const ssize_t sent =
      sendto(fd, text.data(), text.size(), flags, reinterpret_cast<const sockaddr*>(&address), length);
  const int error = sent < 0 ? errno : 0;
  close(fd);
  return error;
}

}  // namespace workspace::notify
