// workspace-run PROGRAM [ARGUMENT...]
//
// Runs a program inside a container for the server outside, which makes the pipes that become the program's standard streams;
// what the program reads and writes then passes through no third party. The engine, which starts this, brings one order by
// its stream: where in this file's directory to meet the server (control.h). The server passes the pipes on there, and with
// them the program may start. On that connection further orders come, and in answer it is said:
//
//   exit STATUS      the program has ended
//   signal N CORE    it was ended by that signal; CORE is 1 when it left a core
//
// Where the server cannot be met nothing is started, and `error ERRNO` is said to the engine. Ends as the program did, with
// 128 + N for a signal, so that the engine knows too.

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <string_view>

#include "control.h"
#include "meeting.h"
#include "program.h"

namespace workspace::run {

namespace {

constexpr int USAGE = 64;
constexpr int FAILED = 70;

/** Says how the program ended and returns the status to end with. */
int report(const Control& control, int status) {
  if (WIFSIGNALED(status)) {
    const int number = WTERMSIG(status);
    control.say("signal", number, WCOREDUMP(status) ? 1 : 0);
    return 128 + number;
  }
  control.say("exit", WEXITSTATUS(status));
  return WEXITSTATUS(status);
}

/** As when a terminal's line drops; a stopped program has to go on to hear it. */
void hangUp(pid_t program) {
  signalProgram(program, SIGHUP);
  signalProgram(program, SIGCONT);
}

/** Does what the server says until it is gone: false then. */
bool obey(Control& control, pid_t program) {
  if (!control.fill()) return false;
  Order order;
  while (control.take(order)) {
    if (order.kind != Order::Kind::signal) return false;
    signalProgram(program, order.signal);
  }
  return true;
}

/** Waits for the program's end and passes on what the server says meanwhile. */
int follow(Control& control, pid_t program, int childEvents) {
  std::array<pollfd, 2> waits = {{{childEvents, POLLIN, 0}, {control.descriptor(), POLLIN, 0}}};
  auto& [child, server] = waits;
  while (true) {
    int status = 0;
    if (waitpid(program, &status, WNOHANG) == program) return report(control, status);
    if (poll(waits.data(), waits.size(), -1) < 0) continue;
    signalfd_siginfo event = {};
    if ((child.revents & POLLIN) != 0 && read(childEvents, &event, sizeof event) < 0) continue;
    if (server.fd >= 0 && server.revents != 0 && !obey(control, program)) {
      hangUp(program);
      // Not polled any more: the end would be told again and again.
      server.fd = -1;
    }
  }
}

/** The program's own arguments are in its own entry of the process list, where whoever looks for it finds it once. */
void forgetArguments(std::span<char*> arguments) {
  constexpr std::string_view NAME = "workspace-run";
  char* const begin = arguments.front();
  const std::span<char> all(begin, arguments.back() + std::strlen(arguments.back()));
  std::fill(all.begin(), all.end(), '\0');
  std::copy_n(NAME.begin(), std::min(NAME.size(), all.size()), all.begin());
}

int run(std::span<char*> arguments) {
  // What signals this process would end is for the program to say; one from the container's end cannot be blocked.
  sigset_t all;
  sigset_t before;
  sigset_t children;
  sigfillset(&all);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  if (sigprocmask(SIG_SETMASK, &all, &before) < 0) return FAILED;
  const int childEvents = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (childEvents < 0) return FAILED;

  Control engine(STDIN_FILENO, STDOUT_FILENO);
  const Order order = engine.wait();
  if (order.kind != Order::Kind::meet) return FAILED;
  Streams streams;
  const int server = meetServer(arguments.front(), order.name, order.word, streams);
  if (server < 0) {
    engine.say("error", -server);
    return FAILED;
  }
  Control control(server, server);
  const pid_t program = startProgram(arguments.data() + 1, streams, before);
  closeStreams(streams);
  if (program < 0) {
    control.say("exit", 126);
    return 126;
  }
  forgetArguments(arguments);
  return follow(control, program, childEvents);
}

}  // namespace

}  // namespace workspace::run

int main(int argc, char** argv) {
  // The list's end is argv[argc], which the program's own list ends with too.
  if (argc < 2) return workspace::run::USAGE;
  return workspace::run::run(std::span(argv, static_cast<std::size_t>(argc)));
}
