// workspace-run
//
// Starts programs inside a container for the server outside, which creates the pipes that become a program's standard
// streams, so that their data passes through no third party. The engine starts this as the programs' user, and sends
// one command on its stream: where to meet the server, in this file's directory (control.h). There this process
// becomes the launcher: it receives a command for each program, and forks a runner for it. The runner meets the
// server too, and receives the pipes with which the program starts. Further commands arrive on that connection, which
// reports:
//
//   exit STATUS      the program has exited
//   signal N CORE    the signal terminated it; CORE is 1 if it dumped core
//
// For a program that was not started, the launcher's connection reports `refused WORD ERRNO`: ESTALE when users or
// groups have changed since the launcher was started, so that another launcher is needed. If the server cannot be met
// at first, `error ERRNO` is reported to the engine. A launcher exits when the server disconnects and its last runner
// has exited.

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

/** State that a process of this program has from its start. */
struct Context {
  const char* file;
  /** Signals that were blocked before, which programs inherit. */
  sigset_t before;
  /** Readable when a child has exited. */
  int childEvents;
};

/** Reports how the program exited. */
void report(const Control& control, int status) {
  if (WIFSIGNALED(status))
    control.send("signal", WTERMSIG(status), WCOREDUMP(status) ? 1 : 0);
  else
    control.send("exit", WEXITSTATUS(status));
}

/** Hangs up like a terminal whose line drops; a stopped program must continue to receive the signal. */
void hangUp(pid_t program) {
  signalProgram(program, SIGHUP);
  signalProgram(program, SIGCONT);
}

/** Executes the server's pending commands; returns false once it has disconnected. */
bool executeCommands(Control& control, pid_t program) {
  if (!control.fill()) return false;
  Command command;
  while (control.take(command)) {
    if (command.kind != Command::Kind::signal) return false;
    signalProgram(program, command.signal);
  }
  return true;
}

/** Waits until a child exits or the server sends something; does not watch `server` if it is negative. */
bool waitForEither(int childEvents, int server) {
  std::array<pollfd, 2> waits = {{{childEvents, POLLIN, 0}, {server, POLLIN, 0}}};
  if (poll(waits.data(), waits.size(), -1) < 0) return false;
  signalfd_siginfo event = {};
  // Empties the descriptor; exited children are looked up separately.
  while (read(childEvents, &event, sizeof event) > 0) {}
  return waits[1].revents != 0;
}

/** Waits until the program exits, executing the server's commands meanwhile. */
void follow(Control& control, pid_t program, int childEvents) {
  int server = control.descriptor();
  int status = 0;
  while (waitpid(program, &status, WNOHANG) != program) {
    if (!waitForEither(childEvents, server) || executeCommands(control, program)) continue;
    hangUp(program);
    // No longer watched, because the end would be reported repeatedly.
    server = -1;
  }
  report(control, status);
}

/** Meets the server for one program. Returns the connection and fills the streams, or returns the negative errno. */
int meetServerFor(const char* file, const Command& command, Streams& streams) {
  const int server = meetServer(file, command.name, command.word);
  if (server < 0) return server;
  const int error = receiveStreams(server, streams);
  if (error == 0) return server;
  close(server);
  return error;
}

/** Runs one program until it exits, in a separate process. */
void runProgram(const Context& context, const Request& request, int server, const Streams& streams) {
  for (char* variable : request.variables) putenv(variable);
  Control control(server, server);
  const pid_t program = startProgram(request.arguments.data(), streams, context.before);
  closeStreams(streams);
  if (program < 0)
    control.send("exit", 126);
  else
    follow(control, program, context.childEvents);
}

/** Reports that a program was not started. */
void refuse(int server, std::string_view word, int error) {
  dprintf(server, "refused %.*s %d\n", static_cast<int>(word.size()), word.data(), error);
}

/** Starts programs as the server commands, until it disconnects. */
class Launcher {
 public:
  Launcher(const Context& context, int server) : context_(context), server_(server), control_(server, server) {}

  void run() {
    while (true) {
      while (waitpid(-1, nullptr, WNOHANG) > 0) {}
      if (waitForEither(context_.childEvents, server_) && !executeCommands()) return;
    }
  }

 private:
  bool executeCommands() {
    if (!control_.fill()) return false;
    Command command;
    while (control_.take(command)) {
      if (command.kind != Command::Kind::run || !launch(command)) return false;
    }
    return true;
  }

  /** Returns false when the server has disconnected, or sent an invalid command. */
  bool launch(const Command& next) {
    Command command = next;
    // The command's fields are in the buffer into which the request is read.
    const std::array<std::string, 2> words = {std::string(command.name), std::string(command.word)};
    command.name = words[0];
    command.word = words[1];
    bytes_.resize(command.bytes);
    Request request;
    if (!control_.read(bytes_) || !parseRequest(bytes_, command.variables, pointers_, request)) return false;
    if (accounts_.haveChanged()) {
      refuse(server_, command.word, ESTALE);
      return true;
    }
    const pid_t runner = fork();
    if (runner < 0) refuse(server_, command.word, errno);
    if (runner != 0) return true;
    Streams streams;
    const int met = meetServerFor(context_.file, command, streams);
    if (met < 0) refuse(server_, command.word, -met);
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
  // The program decides about signals that would terminate this process; SIGKILL at the container's end cannot be
  // blocked.
  sigset_t all;
  sigset_t children;
  sigfillset(&all);
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  if (sigprocmask(SIG_SETMASK, &all, &context.before) < 0) return FAILED;
  context.childEvents = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
  if (context.childEvents < 0) return FAILED;
  // Programs of the same user must not control the process that starts later programs.
  if (prctl(PR_SET_DUMPABLE, 0) < 0) return FAILED;

  Control engine(STDIN_FILENO, STDOUT_FILENO);
  const Command command = engine.wait();
  if (command.kind != Command::Kind::meet) return FAILED;
  const int server = meetServer(file, command.name, command.word);
  if (server < 0) {
    engine.send("error", -server);
    return FAILED;
  }
  schedule::shortenSlice();
  Launcher(context, server).run();
  close(server);
  // Reaped by their parent, because the container's first process may not.
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {}
  return 0;
}

}  // namespace

}  // namespace workspace::run

int main(int argc, char** argv) { return argc == 1 ? workspace::run::run(argv[0]) : workspace::run::USAGE; }
