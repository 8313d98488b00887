#include "exit-watch.h"

#include <cerrno>
#include <utility>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <system_error>

namespace workspace::spawn {

namespace {

/** waitid's P_PIDFD, which older headers lack. */
constexpr auto BY_DESCRIPTOR = static_cast<idtype_t>(3);
/** Neither a descriptor nor a process id: makes the thread exit. */
constexpr std::uint64_t END = 0;

Exit exitOf(pid_t pid, int descriptor) {
  siginfo_t info = {};
  // For another process's child, only the fact that it has exited is available.
  if (waitid(BY_DESCRIPTOR, static_cast<id_t>(descriptor), &info, WEXITED | WNOWAIT | WNOHANG) < 0) return {pid, -1, 0};
  if (info.si_code == CLD_EXITED) return {pid, info.si_status, 0};
  return {pid, -1, info.si_status};
}

}  // namespace

ExitWatch::ExitWatch(std::function<void(const Exit&)> onExit) : onExit(std::move(onExit)) {
  poll = epoll_create1(EPOLL_CLOEXEC);
  wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (poll < 0 || wake < 0) throw std::system_error(errno, std::generic_category(), "epoll");
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = END;
  epoll_ctl(poll, EPOLL_CTL_ADD, wake, &event);
  thread = std::thread([this] { run(); });
}

ExitWatch::~ExitWatch() {
  const std::uint64_t one = 1;
  if (write(wake, &one, sizeof one) == sizeof one) thread.join();
  else thread.detach();
  close(poll);
  close(wake);
}

int ExitWatch::add(pid_t pid) {
  const long descriptor = syscall(SYS_pidfd_open, pid, 0);
  if (descriptor < 0) return errno;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u64 = (static_cast<std::uint64_t>(descriptor) << 32) | static_cast<std::uint32_t>(pid);
  if (epoll_ctl(poll, EPOLL_CTL_ADD, static_cast<int>(descriptor), &event) == 0) return 0;
  const int error = errno;
  close(static_cast<int>(descriptor));
  return error;
}

void ExitWatch::run() {
  std::array<epoll_event, 64> events;
  while (true) {
    const int count = epoll_wait(poll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; i++) {
      const std::uint64_t key = events[static_cast<std::size_t>(i)].data.u64;
      if (key == END) return;
      const int descriptor = static_cast<int>(key >> 32);
      const Exit exit = exitOf(static_cast<pid_t>(key & 0xffffffff), descriptor);
      // Closing it is not enough: a child that is just being started has inherited it.
      epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, nullptr);
      close(descriptor);
      onExit(exit);
    }
  }
}

bool reap(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; }

}  // namespace workspace::spawn

#else

namespace workspace::spawn {

ExitWatch::ExitWatch(std::function<void(const Exit&)> onExit) : onExit(std::move(onExit)) {}
ExitWatch::~ExitWatch() = default;
int ExitWatch::add(pid_t) { return ENOSYS; }
void ExitWatch::run() {}
bool reap(pid_t) { return false; }

}  // namespace workspace::spawn

#endif
