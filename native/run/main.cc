// workspace-run
//
// Starts programs inside a container for the server outside, which makes the pipes that become a program's standard streams; what
// the program reads and writes then passes through no third party. The engine, which starts this as the programs' user, brings one
// order by its stream: where in this file's directory to meet the server (control.h). There the launcher, which this then is, gets an
// order for each program, and forks a runner for it. The runner meets the server too, which gives it the pipes: with them the program
// may start. On that connection further orders come, and in answer it is said:
//
//   exit STATUS      the program has ended
//   signal N CORE    it was ended by that signal; CORE is 1 when it left a core
//
// For a program that was not started the launcher's connection says `refused WORD ERRNO`: ESTALE when users or groups have changed
// since the launcher was started, so that another has to be. Where the server cannot be met at first, `error ERRNO` is said to the
// engine. A launcher ends with the server and the last of its runners.

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../schedule/schedule.h"
#include "accounts.h"
#include "control.h"
#include "meeting.h"
#include "program.h"
#include "request.h"

namespace workspace::run {

namespace {

constexpr int USAGE = 64;
constexpr int FAILED = 70;

/** What a process of this program has from its start. */
struct Context {
  const char* file;
  /** What signals were blocked before, and are for programs. */
  sigset_t before;
  /** Readable when a child has ended. */
  int childEvents;
};

/** Says how the program ended. */
void report(const Control& control, int status) {
  if (WIFSIGNALED(status))
    control.say("signal", WTERMSIG(status), WCOREDUMP(status) ? 1 : 0);
  else
    control.say("exit", WEXITSTATUS(status));
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

/** Waits for a child to end or the server to speak; `server` is not watched when it is below 0. */
bool awaitEither(int childEvents, int server) {
  std::array<pollfd, 2> waits = {{{childEvents, POLLIN, 0}, {server, POLLIN, 0}}};
  if (poll(waits.data(), waits.size(), -1) < 0) return false;
  signalfd_siginfo event = {};
  // Empties it: who has ended is asked for.
  while (read(childEvents, &event, sizeof event) > 0) {}
  return waits[1].revents != 0;
}

/** Waits for the program's end and passes on what the server says meanwhile. */
void follow(Control& control, pid_t program, int childEvents) {
  int server = control.descriptor();
  int status = 0;
  while (waitpid(program, &status, WNOHANG) != program) {
    if (!awaitEither(childEvents, server) || obey(control, program)) continue;
    hangUp(program);
    // Not watched any more: the end would be told again and again.
    server = -1;
  }
  report(control, status);
}

/** Meets the server for one program. Returns the connection and fills the streams, or returns the negative error number. */
int meetFor(const char* file, const Order& order, Streams& streams) {
  const int server = meetServer(file, order.name, order.word);
  if (server < 0) return server;
  const int error = receiveStreams(server, streams);
  if (error == 0) return server;
  close(server);
  return error;
}

/** Runs one program to its end, in a process of its own. */
void runProgram(const Context& context, const Request& request, int server, const Streams& streams) {
  for (char* variable : request.variables) putenv(variable);
  Control control(server, server);
  const pid_t program = startProgram(request.arguments.data(), streams, context.before);
  closeStreams(streams);
  if (program < 0)
    control.say("exit", 126);
  else
    follow(control, program, context.childEvents);
}

/** Says that a program was not started. */
void refuse(int server, std::string_view word, int error) {
  dprintf(server, "refused %.*s %d\n", static_cast<int>(word.size()), word.data(), error);
}

/** Starts programs as the server orders until it is gone. */
class Launcher {
 public:
  Launcher(const Context& context, int server) : context_(context), server_(server), control_(server, server) {}

  void run() {
    while (true) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {}
      if (awaitEither(context_.childEvents, server_) && !obey()) return;
    }
  }

 private:
  bool obey() {
    if (!control_.fill()) return false;
    Order order;
    while (control_.take(order)) {
      if (order.kind != Order::Kind::run || !launch(order)) return false;
    }
    return true;
  }

  /** False when the server is gone, or speaks another language. */
  bool launch(const Order& ordered) {
    Order order = ordered;
    // The order's own words are in the buffer that the request is read from.
    const std::array<std::string, 2> words = {std::string(order.name), std::string(order.word)};
    order.name = words[0];
    order.word = words[1];
    bytes_.resize(order.bytes);
    Request request;
    if (!control_.read(bytes_) || !parseRequest(bytes_, order.variables, pointers_, request)) return false;
    if (accounts_.haveChanged()) {
      refuse(server_, order.word, ESTALE);
      return true;
    }
    const pid_t runner = fork();
    if (runner < 0) refuse(server_, order.word, errno);
    if (runner != 0) return true;
    Streams streams;
    const int met = meetFor(context_.file, order, streams);
    if (met < 0) refuse(server_, order.word, -met);
    close(server_);
    if (met >= 0) runProgram(context_, request, met, streams);
    _exit(met < 0 ? FAILED : 0);
  }

  const Context& context_;
  const int server_;
  Control control_;
  const Accounts accounts_;
  std::vector<char> bytes_;
  std::vector<char*> pointers_;
};

int run(const char* file) {
  Context context = {.file = file, .before = {}, .childEvents = -1};
  // What signals this process would end is for the program to say; one from the container's end cannot be blocked.
  sigset_t all;
  sigset_t children;
  sigfillset(&all);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  if (sigprocmask(SIG_SETMASK, &all, &context.before) < 0) return FAILED;
  context.childEvents = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (context.childEvents < 0) return FAILED;
  // Programs of the same user must not take over the process that starts later ones.
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return FAILED;

  Control engine(STDIN_FILENO, STDOUT_FILENO);
  const Order order = engine.wait();
  if (order.kind != Order::Kind::meet) return FAILED;
  const int server = meetServer(file, order.name, order.word);
  if (server < 0) {
    engine.say("error", -server);
    return FAILED;
  }
  schedule::shortenSlice();
  Launcher(context, server).run();
  close(server);
  // Their parent takes note of their end: the container's first process may not.
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
  return 0;
}

}  // namespace

}  // namespace workspace::run

int main(int argc, char** argv) { return argc == 1 ? workspace::run::run(argv[0]) : workspace::run::USAGE; }
