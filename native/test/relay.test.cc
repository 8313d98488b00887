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

/** A connection whose far end is the test's, joined with a socket by the relay. */
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

void say(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string hearAll(int fd) {
  std::string text;
  std::array<char, 65536> chunk;
  ssize_t count = 0;
  while ((count = read(fd, chunk.data(), chunk.size())) > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
  return text;
}

TEST("a relay carries bytes both ways, and the end of one half leaves the other open") {
  const Joined joined;
  say(joined.near, "question");
  shutdown(joined.near, SHUT_WR);
  CHECK(hearAll(joined.far) == "question");
  say(joined.far, "answer");
  shutdown(joined.far, SHUT_WR);
  CHECK(hearAll(joined.near) == "answer");
}

TEST("a relay loses nothing of megabytes, whoever waits for whom") {
  const Joined joined;
  const std::string sent(8U << 20U, 'x');
  std::thread writer([&] {
    say(joined.far, sent);
    shutdown(joined.far, SHUT_WR);
  });
  CHECK(hearAll(joined.near) == sent);
  writer.join();
}

TEST("a relay ends the far side when its socket is given up, after what was written") {
  Joined joined;
  say(joined.near, "last words");
  close(joined.near);
  joined.near = -1;
  CHECK(hearAll(joined.far) == "last words");
  // Of nothing but its end in both directions, which comes a moment after the end of what is read.
  pollfd closed = {joined.far, 0, 0};
  CHECK(poll(&closed, 1, 5000) == 1);
  CHECK((closed.revents & POLLHUP) != 0);
}

TEST("a relay ends its socket when the far side vanishes") {
  Joined joined;
  close(joined.far);
  joined.far = -1;
  CHECK(hearAll(joined.near).empty());
}

TEST("a relay serves many at once") {
  std::array<Joined, 100> all;
  for (const Joined& each : all) say(each.far, "hello");
  for (Joined& each : all) {
    shutdown(each.far, SHUT_WR);
    CHECK(hearAll(each.near) == "hello");
  }
}

TEST("a relay says what was wrong with a descriptor") { CHECK(attach(-1) == -EBADF); }

TEST("a terminal has the size it was made with, and another when resized") {
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
  // Its far end closed, the near one fails with EIO, which is its end.
  CHECK(hearAll(near) == "shown\r\n");
  close(near);
}

}  // namespace

#endif
