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
