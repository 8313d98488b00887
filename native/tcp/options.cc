#include "options.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace workspace::tcp {

int setUserTimeout(int fd, unsigned int timeoutMs) {
  return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeoutMs, sizeof timeoutMs) == 0 ? 0 : errno;
}

int acknowledgeNow(int fd) {
  const int on = 1;
  return setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0 ? 0 : errno;
}

}  // namespace workspace::tcp

#else

namespace workspace::tcp {

int setUserTimeout(int, unsigned int) { return ENOSYS; }

int acknowledgeNow(int) { return ENOSYS; }

}  // namespace workspace::tcp

#endif
