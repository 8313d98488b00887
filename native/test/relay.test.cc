#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include "../relay/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>
#include <thread>

#include "../pty/pty.h"
#include "check.h"

using workspace::pty::Pty;
using workspace::relay::attach;

namespace {

/** A connection whose far end belongs to the test, connected to a socket by the relay. */
struct Joined {
  int far = -1;
  int near = -1;
  Joined() {
    std::array<int, 2> ends = {-1, -1};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
    far = ends[0];
    near = attach(ends[1]);
    CHECK(near >= 0);
    fcntl(near, F_SETFL, 0);
  }
  ~Joined() {
    for (const int fd : {far, near}) {
      if (fd >= 0) close(fd);
    }
  }
};

void writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string readAll(int fd) {
  std::string text;
  std::array<char, 65536> chunk;
  ssize_t count = 0;
  while ((count = read(fd, chunk.data(), chunk.size())) > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
  return text;
}

TEST("a relay copies bytes both ways and keeps one direction open after the other has ended") {
  const Joined joined;
  writeAll(joined.near, "question");
  shutdown(joined.near, SHUT_WR);
  CHECK(readAll(joined.far) == "question");
  writeAll(joined.far, "answer");
  shutdown(joined.far, SHUT_WR);
  CHECK(readAll(joined.near) == "answer");
}

TEST("a relay loses none of several megabytes, whichever side is slow") {
  const Joined joined;
  const std::string sent(8U << 20U, 'x');
  std::thread writer([&] {
    writeAll(joined.far, sent);
    shutdown(joined.far, SHUT_WR);
  });
  CHECK(readAll(joined.near) == sent);
  writer.join();
}

TEST("a relay closes the far side after its socket is closed and all written bytes are forwarded") {
  Joined joined;
  writeAll(joined.near, "last words");
  close(joined.near);
  joined.near = -1;
  CHECK(readAll(joined.far) == "last words");
  // Both directions have ended, which takes effect a moment after the reader sees the end.
  pollfd closed = {joined.far, 0, 0};
  CHECK(poll(&closed, 1, 5000) == 1);
  CHECK((closed.revents & POLLHUP) != 0);
}

TEST("a relay closes its socket when the far side disappears") {
  Joined joined;
  close(joined.far);
  joined.far = -1;
  CHECK(readAll(joined.near).empty());
}

TEST("a relay serves many pairs in parallel") {
  std::array<Joined, 100> all;
  for (const Joined& each : all) writeAll(each.far, "hello");
  for (Joined& each : all) {
    shutdown(each.far, SHUT_WR);
    CHECK(readAll(each.near) == "hello");
  }
}

TEST("a relay reports an invalid descriptor") { CHECK(attach(-1) == -EBADF); }

TEST("a terminal has its initial size and can be resized") {
  Pty pty;
  CHECK(workspace::pty::make(100, 30, pty) == 0);
  winsize size = {};
  CHECK(ioctl(pty.far, TIOCGWINSZ, &size) == 0 && size.ws_col == 100 && size.ws_row == 30);
  CHECK(workspace::pty::resize(pty.near, 80, 24) == 0);
  CHECK(ioctl(pty.far, TIOCGWINSZ, &size) == 0 && size.ws_col == 80 && size.ws_row == 24);
  const int near = attach(pty.near);
  fcntl(near, F_SETFL, 0);
  CHECK(write(pty.far, "shown\n", 6) == 6);
  close(pty.far);
  // After its far end was closed, the near end fails with EIO, which counts as its end.
  CHECK(readAll(near) == "shown\r\n");
  close(near);
}

}  // namespace

#endif
