#include "socket.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <sys/socket.h>
// After sys/socket.h, whose sa_family_t it needs.
#include <linux/vm_sockets.h>
#include <sys/time.h>
#include <unistd.h>

namespace workspace::vsock {

namespace {

constexpr int BACKLOG = 128;

int open() { return socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0); }

sockaddr_vm addressOf(unsigned int cid, unsigned int port) {
  sockaddr_vm address = {};
  address.svm_family = AF_VSOCK;
  address.svm_cid = cid;
  address.svm_port = port;
  return address;
}

int failed(int fd) {
  const int error = errno;
  if (fd >= 0) close(fd);
  return -error;
}

}  // namespace

int listen(unsigned int port) {
  const int fd = open();
  const sockaddr_vm address = addressOf(VMADDR_CID_ANY, port);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 || ::listen(fd, BACKLOG) < 0) {
    return failed(fd);
  }
  return fd;
}

int accept(int listener, unsigned int& peer) {
  int fd = -1;
  sockaddr_vm address = {};
  do {
    socklen_t size = sizeof address;
    fd = accept4(listener, reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC);
  } while (fd < 0 && (errno == EINTR || errno == ECONNABORTED));
  peer = address.svm_cid;
  return fd < 0 ? -errno : fd;
}

void stop(int listener) { shutdown(listener, SHUT_RDWR); }

int connect(unsigned int cid, unsigned int port, int timeoutMs) {
  const int fd = open();
  if (fd < 0) return -errno;
  const timeval timeout = {.tv_sec = timeoutMs / 1000, .tv_usec = timeoutMs % 1000 * 1000};
  setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &timeout, sizeof timeout);
  const sockaddr_vm address = addressOf(cid, port);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 ? failed(fd) : fd;
}

}  // namespace workspace::vsock

#else

namespace workspace::vsock {

int listen(unsigned int) { return -ENOSYS; }
int accept(int, unsigned int&) { return -ENOSYS; }
void stop(int) {}
int connect(unsigned int, unsigned int, int) { return -ENOSYS; }

}  // namespace workspace::vsock

#endif
