#include "options.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>

namespace workspace::tcp {

namespace {

// Headers older than Linux 6.15 do not define it.
constexpr int RTO_MAX_MS = 44;

}  // namespace

std::int64_t silenceMs(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return -1;
  const bool isWaiting = info.tcpi_unacked > 0 || info.tcpi_probes > 0;
  return isWaiting ? std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv) : 0;
}

int limitBackoff(int fd, int limitMs) {
  return setsockopt(fd, IPPROTO_TCP, RTO_MAX_MS, &limitMs, sizeof limitMs) == 0 ? 0 : errno;
}

int acknowledgeNow(int fd) {
  const int on = 1;
  return setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on) == 0 ? 0 : errno;
}

}  // namespace workspace::tcp

#else

namespace workspace::tcp {

std::int64_t silenceMs(int) { return -1; }

int limitBackoff(int, int) { return ENOSYS; }

int acknowledgeNow(int) { return ENOSYS; }

}  // namespace workspace::tcp

#endif
