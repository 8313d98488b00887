#include "start.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string_view>

namespace workspace::spawn {

namespace {

constexpr std::string_view DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin";

std::string_view pathOf(const char* const* environment) {
  for (; *environment != nullptr; environment++) {
    const std::string_view entry = *environment;
    if (entry.starts_with("PATH=")) return entry.substr(5);
  }
  return DEFAULT_PATH;
}

/** Executes the first executable program of that name, or returns the errno. */
int execute(const Request& request) {
  const auto argv = const_cast<char* const*>(request.argv);
  const auto environment = const_cast<char* const*>(request.environment);
  const std::string_view name = argv[0];
  if (name.find('/') != std::string_view::npos) {
    execve(argv[0], argv, environment);
    return errno;
  }
  int error = ENOENT;
  std::array<char, PATH_MAX> file;
  std::string_view directories = pathOf(request.environment);
  while (!directories.empty()) {
    const std::size_t end = std::min(directories.find(':'), directories.size());
    if (end > 0 && end + 1 + name.size() < file.size()) {
      auto next = std::copy_n(directories.begin(), end, file.begin());
      *next++ = '/';
      *std::copy(name.begin(), name.end(), next) = '\0';
      execve(file.data(), argv, environment);
      // A program that exists but is not executable determines the error if there is no other.
      if (errno != ENOENT && errno != ENOTDIR) error = errno;
    }
    directories.remove_prefix(std::min(end + 1, directories.size()));
  }
  return error;
}

int enterControlGroup(const char* file) {
  const int fd = open(file, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int error = write(fd, "0", 1) < 0 ? errno : 0;
  close(fd);
  return error;
}

void forgetSignals() {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; number++) sigaction(number, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/**
 * Runs in the child, which shares the parent's memory: no allocations, only system calls. Returns only on failure.
 */
Failure prepareAndExecute(const Request& request) {
  if (setsid() < 0) return {errno, "setsid"};
  if (request.cgroup != nullptr) {
    const int error = enterControlGroup(request.cgroup);
    if (error != 0) return {error, "cgroup"};
  }
  if (request.isTerminal && ioctl(request.output, TIOCSCTTY, 0) < 0) return {errno, "ioctl"};
  const int input = request.isTerminal ? dup(request.output) : open("/dev/null", O_RDONLY);
  if (input < 0 || dup2(input, STDIN_FILENO) < 0) return {errno, "open"};
  if (input > STDERR_FILENO) close(input);
  if (dup2(request.output, STDOUT_FILENO) < 0 || dup2(request.error, STDERR_FILENO) < 0) return {errno, "dup2"};
  for (const Limit& limit : request.limits) {
    const rlimit both = {limit.value, limit.value};
    if (setrlimit(static_cast<__rlimit_resource>(limit.resource), &both) < 0) return {errno, "setrlimit"};
  }
  if (request.hasUser) {
    // Not through the C library, whose functions change every thread of the process that owns the memory.
    if (syscall(SYS_setgroups, request.groups.size(), request.groups.data()) < 0) return {errno, "setgroups"};
    if (syscall(SYS_setgid, request.group) < 0) return {errno, "setgid"};
    if (syscall(SYS_setuid, request.user) < 0) return {errno, "setuid"};
  }
  // As its user, who may not have access everywhere.
  if (chdir(request.directory) < 0) return {errno, "chdir"};
  forgetSignals();
  return {execute(request), "execve"};
}

}  // namespace

pid_t start(const Request& request, Failure& failure) {
  // Our signal handlers must not run in the child, which shares our memory.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  failure = {};
  // Written by the child if it cannot execute the program.
  Failure* const reported = &failure;
  const pid_t child = vfork();
  if (child == 0) {
    *reported = prepareAndExecute(request);
    _exit(127);
  }
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) {
    failure = {error, "vfork"};
    return -1;
  }
  if (failure.error == 0) return child;
  siginfo_t ended;
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED) < 0 && errno == EINTR) {
  }
  return -1;
}

int setSubreaper(bool isSubreaper) { return prctl(PR_SET_CHILD_SUBREAPER, isSubreaper ? 1 : 0, 0, 0, 0) < 0 ? errno : 0; }

}  // namespace workspace::spawn

#else

namespace workspace::spawn {

pid_t start(const Request&, Failure& failure) {
  failure = {ENOSYS, "vfork"};
  return -1;
}

int setSubreaper(bool) { return ENOSYS; }

}  // namespace workspace::spawn

#endif
