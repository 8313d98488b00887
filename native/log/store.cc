#include "store.h"

#include <cerrno>
#include <chrono>
#include <utility>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <system_error>

namespace workspace::log {

namespace {

constexpr std::size_t READ_BYTES = 64 * 1024;
/** Reads of one pipe before the next gets its turn. */
constexpr int READS_A_TURN = 16;
/** Reduces context switches for a program that fills its pipe. The system may grant less. */
constexpr int WIDE_PIPE_BYTES = 1024 * 1024;
/** Between two states of a line that carriage returns rewrite, and from bytes to their state at least. */
constexpr std::chrono::milliseconds STATE_PERIOD(1'000);
constexpr std::chrono::milliseconds STATE_DELAY(200);

std::int64_t nowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

}  // namespace

Store::Store(std::function<void()> onLines) : onLines(std::move(onLines)), buffer(READ_BYTES) {
  poll = epoll_create1(EPOLL_CLOEXEC);
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  if (poll < 0 || wake < 0 || timer < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  for (const int fd : {wake, timer}) {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
  }
  thread = std::thread([this] { run(); });
}

Store::~Store() {
  const std::uint64_t one = 1;
  if (write(wake, &one, sizeof one) == sizeof one) thread.join();
  else thread.detach();
  for (const auto& [fd, reader] : readers) close(fd);
  close(poll);
  close(wake);
  close(timer);
}

int Store::addSource(Bounds bounds) {
  const std::lock_guard lock(mutex);
  sources.emplace(++lastSource, std::make_shared<Source>(bounds));
  return lastSource;
}

void Store::removeSource(int source) {
  const std::lock_guard lock(mutex);
  sources.erase(source);
}

std::shared_ptr<Source> Store::find(int source) const {
  const std::lock_guard lock(mutex);
  const auto found = sources.find(source);
  return found == sources.end() ? nullptr : found->second;
}

int Store::attach(int source, int stream, int fd) {
  const auto lines = find(source);
  if (lines == nullptr) return EINVAL;
  if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) return errno;
  const std::lock_guard lock(mutex);
  readers[fd] = {stream, lines};
  lines->opened();
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.fd = fd;
  if (epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event) == 0) return 0;
  const int error = errno;
  readers.erase(fd);
  lines->closed();
  return error;
}

void Store::push(int source, int stream, std::string_view bytes) {
  const auto lines = find(source);
  if (lines == nullptr) return;
  if (lines->take(stream, bytes, nowMs(), sequence)) awaitStates();
  tell();
}

void Store::finish(int source, int stream) {
  const auto lines = find(source);
  if (lines == nullptr) return;
  lines->finish(stream, nowMs(), sequence);
  tell();
}

void Store::tell() {
  if (isListening) onLines();
}

void Store::awaitStates() {
  if (isAwaitingStates.exchange(true)) return;
  const auto rest = statesAt.load() + STATE_PERIOD - std::chrono::steady_clock::now();
  const auto delay = std::max<std::chrono::nanoseconds>(rest, STATE_DELAY);
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(delay);
  itimerspec once = {};
  once.it_value = {.tv_sec = static_cast<time_t>(seconds.count()), .tv_nsec = static_cast<long>((delay - seconds).count())};
  timerfd_settime(timer, 0, &once, nullptr);
}

void Store::showStates() {
  std::uint64_t expirations;
  if (::read(timer, &expirations, sizeof expirations) < 0) return;
  statesAt = std::chrono::steady_clock::now();
  isAwaitingStates = false;
  const std::lock_guard lock(mutex);
  for (auto& [fd, reader] : readers) reader.lines->showState(reader.stream, reader.begun, nowMs(), sequence);
  for (const auto& [id, lines] : sources) lines->showStates(nowMs(), sequence);
}

bool Store::readSome(int fd, Reader& reader) {
  for (int i = 0; i < READS_A_TURN; i++) {
    const ssize_t size = read(fd, buffer.data(), buffer.size());
    if (size > 0) {
      const std::string_view bytes(buffer.data(), static_cast<std::size_t>(size));
      if (reader.lines->take(reader.stream, reader.begun, bytes, nowMs(), sequence)) awaitStates();
      if (static_cast<std::size_t>(size) < buffer.size()) return true;
      if (!reader.isWide) fcntl(fd, F_SETPIPE_SZ, WIDE_PIPE_BYTES);
      reader.isWide = true;
      continue;
    }
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    reader.lines->finish(reader.stream, reader.begun, nowMs(), sequence);
    return false;
  }
  return true;
}

void Store::run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; i++) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == wake) return;
      if (fd == timer) {
        showStates();
        continue;
      }
      Reader* reader;
      {
        // Only this thread removes readers, and a map's entries never move.
        const std::lock_guard lock(mutex);
        reader = &readers.at(fd);
      }
      if (readSome(fd, *reader)) continue;
      const std::lock_guard lock(mutex);
      reader->lines->closed();
      readers.erase(fd);
      // Closing it is not enough: a child that is just being started has inherited it.
      epoll_ctl(poll, EPOLL_CTL_DEL, fd, nullptr);
      close(fd);
    }
    if (count > 0) tell();
  }
}

}  // namespace workspace::log

#else

namespace workspace::log {

Store::Store(std::function<void()> onLines) : onLines(std::move(onLines)) {}
Store::~Store() = default;
int Store::addSource(Bounds) { return 0; }
void Store::removeSource(int) {}
std::shared_ptr<Source> Store::find(int) const { return nullptr; }
int Store::attach(int, int, int) { return ENOSYS; }
void Store::push(int, int, std::string_view) {}
void Store::finish(int, int) {}
void Store::tell() {}
void Store::awaitStates() {}
void Store::showStates() {}
bool Store::readSome(int, Reader&) { return false; }
void Store::run() {}

}  // namespace workspace::log

#endif
