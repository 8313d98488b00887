#include "meeting.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

namespace workspace::run {

namespace {

/** Sets the socket's address; returns false if its path is too long. */
bool findAddress(std::string_view fileBeside, std::string_view name, sockaddr_un& address) {
  const std::size_t slash = fileBeside.rfind('/');
  const std::size_t directory = slash == std::string_view::npos ? 0 : slash + 1;
  if (directory + name.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), std::copy_n(fileBeside.begin(), directory, address.sun_path));
  return true;
}

int connectTo(const sockaddr_un& address) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -errno;
  if (connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return socket;
  const int error = errno;
  close(socket);
  return -error;
}

/** Receives the descriptors that accompany one byte; returns their number, or the negative errno. */
int receive(int socket, Streams& received) {
  char byte = 0;
  iovec data = {&byte, 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(Streams))> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (count == 0 || header == nullptr || header->cmsg_type != SCM_RIGHTS) return -ECONNRESET;
  const std::size_t bytes = std::min<std::size_t>(header->cmsg_len - CMSG_LEN(0), sizeof(Streams));
  std::memcpy(received.data(), CMSG_DATA(header), bytes);
  return static_cast<int>(bytes / sizeof(int));
}

}  // namespace

int meetServer(const char* fileBeside, std::string_view name, std::string_view word) {
  sockaddr_un address = {};
  if (!findAddress(fileBeside, name, address)) return -ENAMETOOLONG;
  const int socket = connectTo(address);
  if (socket < 0) return socket;
  if (send(socket, word.data(), word.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(word.size())) return socket;
  close(socket);
  return -ECONNRESET;
}

int receiveStreams(int server, Streams& streams) {
  streams.fill(-1);
  const int count = receive(server, streams);
  if (count == 3) return 0;
  if (count == 2) {
    std::rotate(streams.begin(), streams.begin() + 2, streams.end());
    streams[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (streams[0] >= 0) return 0;
  }
  const int error = count < 0 ? -count : count == 2 ? errno : EPROTO;
  closeStreams(streams);
  return -error;
}

void closeStreams(const Streams& streams) {
  for (const int fd : streams) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace workspace::run
