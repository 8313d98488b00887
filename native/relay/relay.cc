#include "relay.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "direction.h"

namespace workspace::relay {

namespace {

/** A far descriptor and the near socket that represents it here; both are closed together. */
class Pair {
 public:
  Pair(int far, int near) : far_(far), near_(near), in_(far, near), out_(near, far) {}
  ~Pair() {
    for (const int fd : descriptors()) close(fd);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  std::array<int, 2> descriptors() const { return {far_, near_}; }
  bool isNear(int descriptor) const { return descriptor == near_; }

  /** Records that the other end of the near socket was closed; bytes already written to it are still forwarded. */
  void abandon() { isAbandoned_ = true; }
  bool isAbandoned() const { return isAbandoned_; }

  /** Returns false when nothing is left to do. */
  bool pump() {
    if (out_.pump() == Direction::Progress::broken) return false;
    if (isAbandoned_) return !out_.isDone();
    return in_.pump() != Direction::Progress::broken && !(in_.isDone() && out_.isDone());
  }

  std::uint32_t interest(int descriptor) const {
    const Direction& away = isNear(descriptor) ? in_ : out_;
    const Direction& from = isNear(descriptor) ? out_ : in_;
    const bool isMoot = isAbandoned_ && !isNear(descriptor);
    return (from.wantsInput() && !isMoot ? static_cast<std::uint32_t>(EPOLLIN) : 0U) |
           (away.wantsOutput() && !(isAbandoned_ && isNear(descriptor)) ? static_cast<std::uint32_t>(EPOLLOUT) : 0U);
  }

 private:
  int far_;
  int near_;
  Direction in_;
  Direction out_;
  bool isAbandoned_ = false;
};

class Relay {
 public:
  static Relay& instance() {
    // Never destroyed: its thread runs until the process exits.
    static Relay* const relay = new Relay();
    return *relay;
  }

  /** Returns 0 or the errno; on an error the pair is closed. */
  int add(std::unique_ptr<Pair> pair) {
    if (error_ != 0) return error_;
    {
      const std::lock_guard lock(mutex_);
      arrived_.push_back(std::move(pair));
    }
    const std::uint64_t one = 1;
    return write(wake_, &one, sizeof one) == sizeof one ? 0 : errno;
  }

 private:
  Relay() {
    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event event = {.events = EPOLLIN, .data = {.fd = wake_}};
    if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) < 0) {
      error_ = errno;
      return;
    }
    // Signals are left to the threads that handle them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { run(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  void run() {
    std::array<epoll_event, 64> events;
    while (true) {
      const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < count; i++) {
        const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
        if (descriptor == wake_) takeArrived();
        else serve(descriptor, events[static_cast<std::size_t>(i)].events);
      }
    }
  }

  void takeArrived() {
    std::uint64_t ignored = 0;
    if (read(wake_, &ignored, sizeof ignored) < 0 && errno != EAGAIN) return;
    std::vector<std::unique_ptr<Pair>> arrived;
    {
      const std::lock_guard lock(mutex_);
      arrived.swap(arrived_);
    }
    for (auto& each : arrived) {
      const std::shared_ptr<Pair> pair = std::move(each);
      for (const int fd : pair->descriptors()) pairs_[fd] = Entry{.pair = pair};
      serve(pair->descriptors()[0], 0);
    }
  }

  void serve(int descriptor, std::uint32_t events) {
    const auto found = pairs_.find(descriptor);
    // An earlier event of the same turn may have closed its pair.
    if (found == pairs_.end()) return;
    const std::shared_ptr<Pair> pair = found->second.pair;
    if (pair->isNear(descriptor) && (events & EPOLLHUP) != 0) pair->abandon();
    const bool goesOn = pair->pump();
    for (const int fd : pair->descriptors()) {
      if (goesOn) watch(fd, pair->interest(fd), pair->isNear(fd) && !pair->isAbandoned());
      else unwatch(fd);
    }
  }

  /**
   * Descriptors without wanted events are not watched at all, or the end of the other side would be reported
   * repeatedly; only the closing of the near socket must always be noticed.
   */
  void watch(int descriptor, std::uint32_t wanted, bool always) {
    Entry& entry = pairs_[descriptor];
    const bool isWatched = wanted != 0 || always;
    if (entry.isWatched == isWatched && entry.wanted == wanted) return;
    epoll_event event = {.events = wanted, .data = {.fd = descriptor}};
    const int operation = !isWatched ? EPOLL_CTL_DEL : entry.isWatched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    epoll_ctl(epoll_, operation, descriptor, &event);
    entry.wanted = wanted;
    entry.isWatched = isWatched;
  }

  void unwatch(int descriptor) {
    watch(descriptor, 0, false);
    pairs_.erase(descriptor);
  }

  struct Entry {
    std::shared_ptr<Pair> pair;
    std::uint32_t wanted = 0;
    bool isWatched = false;
  };

  int epoll_ = -1;
  int wake_ = -1;
  int error_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Pair>> arrived_;
  std::unordered_map<int, Entry> pairs_;
};

}  // namespace

int attach(int descriptor) {
  std::array<int, 2> ends = {-1, -1};
  if (fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) < 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) < 0) {
    const int error = errno;
    close(descriptor);
    return -error;
  }
  const int error = Relay::instance().add(std::make_unique<Pair>(descriptor, ends[0]));
  if (error == 0) return ends[1];
  close(ends[1]);
  return -error;
}

}  // namespace workspace::relay

#else

namespace workspace::relay {

int attach(int) { return -ENOSYS; }

}  // namespace workspace::relay

#endif
