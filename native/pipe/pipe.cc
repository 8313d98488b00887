#include "pipe.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

namespace workspace::pipe {

namespace {

constexpr std::size_t MAX_DESCRIPTORS = 4;

}  // namespace

int make(int capacityBytes, Pipe& made) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) < 0) return errno;
  // A process that can reach the pipe through /proc/PID/fd may inspect this process anyway.
  if (fchmod(ends[0], 0666) < 0) {
    const int error = errno;
    close(ends[0]);
    close(ends[1]);
    return error;
  }
  // Refused if an unprivileged user already has many pipes: then it keeps its default size.
  fcntl(ends[1], F_SETPIPE_SZ, capacityBytes);
  made = {.reader = ends[0], .writer = ends[1]};
  return 0;
}

int send(int socket, std::span<const int> descriptors) {
  if (descriptors.empty() || descriptors.size() > MAX_DESCRIPTORS) return EINVAL;
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
  std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  while (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

}  // namespace workspace::pipe

#else

namespace workspace::pipe {

int make(int, Pipe&) { return ENOSYS; }
int send(int, std::span<const int>) { return ENOSYS; }

}  // namespace workspace::pipe

#endif
