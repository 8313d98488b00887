#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include "direction.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace workspace::relay {

namespace {

bool mustWait(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Direction::Progress Direction::pump() {
  Progress last = Progress::waits;
  // Limits one turn, so that no pair starves the others.
  for (int i = 0; i < 4; i++) {
    const Progress progress = begin_ == end_ ? fill() : drain();
    if (progress == Progress::broken) return progress;
    if (progress == Progress::waits) return last;
    last = progress;
  }
  return last;
}

Direction::Progress Direction::fill() {
  if (isEnded_) return Progress::waits;
  const ssize_t count = read(from_, buffer_.data(), buffer_.size());
  if (count > 0) {
    begin_ = 0;
    end_ = static_cast<std::size_t>(count);
    return Progress::moved;
  }
  if (count < 0 && mustWait(errno)) return Progress::waits;
  // A terminal's near end returns EIO when nobody has the far end open any more.
  if (count < 0 && errno != EIO) return Progress::broken;
  isEnded_ = true;
  isPassedOn_ = true;
  // A descriptor that is not a socket cannot be half-closed.
  shutdown(to_, SHUT_WR);
  return Progress::moved;
}

Direction::Progress Direction::drain() {
  const std::size_t size = end_ - begin_;
  ssize_t count = send(to_, buffer_.data() + begin_, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0 && errno == ENOTSOCK) count = write(to_, buffer_.data() + begin_, size);
  if (count < 0) return mustWait(errno) ? Progress::waits : Progress::broken;
  begin_ += static_cast<std::size_t>(count);
  return Progress::moved;
}

}  // namespace workspace::relay

#endif
