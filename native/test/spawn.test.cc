#include "check.h"

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>

#include "../pty/pty.h"
#include "../spawn/exit-watch.h"
#include "../spawn/start.h"

using namespace workspace::spawn;

namespace {

Request requestFor(const char* const* argv) {
  static const char* const environment[] = {"PATH=/usr/bin:/bin", nullptr};
  Request request;
  request.argv = argv;
  request.environment = environment;
  request.directory = "/";
  request.output = STDOUT_FILENO;
  request.error = STDERR_FILENO;
  return request;
}

}  // namespace

TEST("start reports the failed call and leaves no child behind") {
  const char* const argv[] = {"there-is-no-such-program", nullptr};
  Request request = requestFor(argv);
  Failure failure;
  CHECK(start(request, failure) == -1);
  CHECK(failure.error == ENOENT && std::string(failure.call) == "execve");
  const char* const known[] = {"true", nullptr};
  request = requestFor(known);
  request.directory = "/no/such/directory";
  CHECK(start(request, failure) == -1);
  CHECK(failure.error == ENOENT && std::string(failure.call) == "chdir");
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
}

TEST("a program on a terminal reads from it and has it as its controlling terminal") {
  workspace::pty::Pty pty;
  CHECK(workspace::pty::make(80, 24, pty) == 0);
  const char* const argv[] = {"sh", "-c", "read line; echo \"<$line>\" > /dev/tty", nullptr};
  Request request = requestFor(argv);
  request.output = pty.far;
  request.error = pty.far;
  request.isTerminal = true;
  Failure failure;
  const pid_t child = start(request, failure);
  CHECK(child > 0);
  close(pty.far);
  CHECK(write(pty.near, "word\n", 5) == 5);
  std::string output;
  char bytes[256];
  // A terminal whose programs have exited reports an error.
  for (ssize_t count = 0; (count = read(pty.near, bytes, sizeof bytes)) > 0;) output.append(bytes, static_cast<std::size_t>(count));
  CHECK(output.find("<word>") != std::string::npos);
  CHECK(waitpid(child, nullptr, 0) == child);
  close(pty.near);
}

TEST("a program without a terminal device is not started") {
  const char* const argv[] = {"true", nullptr};
  Request request = requestFor(argv);
  request.output = open("/dev/null", O_RDWR | O_CLOEXEC);
  request.error = request.output;
  request.isTerminal = true;
  Failure failure;
  CHECK(start(request, failure) == -1);
  CHECK(failure.error == ENOTTY && std::string(failure.call) == "ioctl");
  close(request.output);
}

TEST("a watch reports how programs exited and leaves reaping to the caller") {
  std::atomic<int> told = 0;
  std::atomic<int> lastCode = -2;
  std::atomic<int> lastSignal = -2;
  ExitWatch watch([&](const Exit& exit) {
    lastCode = exit.code;
    lastSignal = exit.signal;
    told++;
  });
  const auto runToEnd = [&](const char* script) {
    const int before = told;
    const char* const argv[] = {"sh", "-c", script, nullptr};
    Failure failure;
    const pid_t pid = start(requestFor(argv), failure);
    CHECK(pid > 0 && getpgid(pid) == pid && watch.add(pid) == 0);
    while (told == before) std::this_thread::yield();
    CHECK(kill(pid, 0) == 0);
    CHECK(reap(pid));
    CHECK(kill(pid, 0) == -1);
  };
  runToEnd("exit 7");
  CHECK(lastCode == 7 && lastSignal == 0);
  runToEnd("kill -9 $$");
  CHECK(lastCode == -1 && lastSignal == SIGKILL);
  CHECK(watch.add(999999999) == ESRCH || watch.add(999999999) == EINVAL);
}

#endif
