#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../pipe/pipe.h"
#include "../run/control.h"
#include "../run/meeting.h"
#include "../run/program.h"
#include "../run/request.h"
#include "check.h"

using workspace::pipe::Pipe;
using workspace::run::closeStreams;
using workspace::run::Control;
using workspace::run::meetServer;
using workspace::run::Command;
using workspace::run::parseCommand;
using workspace::run::parseRequest;
using workspace::run::receiveStreams;
using workspace::run::Request;
using workspace::run::startProgram;
using workspace::run::Streams;

namespace {

const std::string NAME(32, 'a');
const std::string WORD(32, 'b');

struct Ends {
  int reader;
  int writer;
  Ends() {
    Pipe made;
    CHECK(workspace::pipe::make(65536, made) == 0);
    reader = made.reader;
    writer = made.writer;
  }
  ~Ends() {
    for (const int fd : {reader, writer}) {
      if (fd >= 0) close(fd);
    }
  }
  void endInput() {
    close(writer);
    writer = -1;
  }
  std::string all() {
    endInput();
    std::string text;
    std::array<char, 4096> chunk;
    ssize_t count = 0;
    while ((count = read(reader, chunk.data(), chunk.size())) > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    return text;
  }
};

int statusOf(const std::array<const char*, 4>& words, std::string* errors = nullptr) {
  std::array<char*, 5> argv = {};
  for (std::size_t i = 0; i < words.size(); i++) argv[i] = const_cast<char*>(words[i]);
  Ends input, output, error;
  sigset_t none;
  sigemptyset(&none);
  const Streams streams = {input.reader, output.writer, error.writer};
  const pid_t program = startProgram(argv.data(), streams, none);
  int status = 0;
  CHECK(program > 0 && waitpid(program, &status, 0) == program);
  if (errors != nullptr) *errors = error.all();
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST("parseCommand accepts complete commands and rejects every other line") {
  const std::string line = "meet " + NAME + " " + WORD;
  const Command meet = parseCommand(line);
  CHECK(meet.kind == Command::Kind::meet && meet.name == NAME && meet.word == WORD);
  const Command signal = parseCommand("signal 15");
  CHECK(signal.kind == Command::Kind::signal && signal.signal == 15);
  const std::string start = "run " + NAME + " " + WORD;
  const std::string whole = start + " 3 2097152";
  const Command run = parseCommand(whole);
  CHECK(run.kind == Command::Kind::run && run.name == NAME && run.word == WORD && run.variables == 3 && run.bytes == 2097152);
  for (const std::string& bad : {std::string("run"), start, start + " 1", start + " 1 ", start + " 1 x", start + " x 1", start + " 1 2 3",
                                 start + " -1 2", start + " 1 2097153", start + " 1 99999999999999999999999", "run " + NAME + " 1 2"}) {
    CHECK(parseCommand(bad).kind == Command::Kind::end);
  }
  for (const std::string& bad : {std::string(), std::string("meet"), "meet " + NAME, "meet " + NAME + " " + WORD + "b",
                                 "meet " + NAME + WORD + "x", "meet ../" + NAME.substr(3) + " " + WORD,
                                 std::string("signal"), std::string("signal "), std::string("signal 0"),
                                 std::string("signal -9"), std::string("signal 999"), std::string("signal 9 "),
                                 std::string("signal 99999999999999999999"), std::string("go"), std::string(300, 'm')}) {
    CHECK(parseCommand(bad).kind == Command::Kind::end);
  }
}

TEST("commands are taken one by one, however they arrive") {
  Ends ends;
  Control control(ends.reader, -1);
  const std::string text = "signal 1\nsignal 2\nsig";
  CHECK(write(ends.writer, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  CHECK(control.wait().signal == 1);
  CHECK(control.wait().signal == 2);
  Command command;
  CHECK(!control.take(command));
  CHECK(write(ends.writer, "nal 3\n", 6) == 6);
  CHECK(control.wait().signal == 3);
  ends.endInput();
  CHECK(control.wait().kind == Command::Kind::end);
}

TEST("an endless line is rejected and not buffered forever") {
  Ends ends;
  Control control(ends.reader, -1);
  const std::string text(1000, 'x');
  CHECK(write(ends.writer, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  CHECK(control.wait().kind == Command::Kind::end);
}

TEST("a request has variables and arguments and must end with a complete string") {
  std::vector<char*> pointers;
  Request request;
  std::string text("A=1\0B=\0echo\0\0c d\0", 17);
  CHECK(parseRequest(text, 2, pointers, request));
  CHECK(request.variables.size() == 2 && std::string_view(request.variables[1]) == "B=");
  CHECK(request.arguments.size() == 4 && request.arguments[3] == nullptr);
  CHECK(std::string_view(request.arguments[1]).empty() && std::string_view(request.arguments[2]) == "c d");
  CHECK(!parseRequest(text, 5, pointers, request) && !parseRequest(text, std::size_t(-1), pointers, request));
  std::string unended("echo\0x", 6);
  CHECK(!parseRequest(unended, 0, pointers, request) && !parseRequest(std::span<char>(), 0, pointers, request));
}

TEST("bytes after a command are read completely, however they arrive") {
  Ends ends;
  Control control(ends.reader, -1);
  CHECK(write(ends.writer, "signal 1\nabc", 12) == 12);
  CHECK(control.wait().signal == 1);
  std::string bytes(6, ' ');
  std::thread later([&] { CHECK(write(ends.writer, "defsignal 2\n", 12) == 12); });
  CHECK(control.read(bytes) && bytes == "abcdef");
  later.join();
  CHECK(control.wait().signal == 2);
  ends.endInput();
  CHECK(!control.read(bytes));
}

TEST("a program exits with its own status, and one that cannot be executed with the engine's") {
  CHECK(statusOf({"/bin/sh", "-c", "exit 7", nullptr}) == 7);
  CHECK(statusOf({"sh", "-c", "kill -TERM $$", nullptr}) == 128 + SIGTERM);
  std::string errors;
  CHECK(statusOf({"/no/such/program", nullptr, nullptr, nullptr}, &errors) == 127);
  CHECK(errors == "cannot run /no/such/program: No such file or directory\n");
  CHECK(statusOf({"no-such-program", nullptr, nullptr, nullptr}) == 127);
  CHECK(statusOf({"/etc/passwd", nullptr, nullptr, nullptr}) == 126);
  const std::string tooLong(PATH_MAX * 2, 'x');
  CHECK(statusOf({tooLong.c_str(), nullptr, nullptr, nullptr}, &errors) == 127);
  CHECK(errors.size() < 512);
}

TEST("a runner meets the server and receives pipes") {
  const std::string directory = "/tmp/workspace-run-test-" + std::to_string(getpid());
  const std::string path = directory + NAME;
  const int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  CHECK(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 && listen(server, 1) == 0);
  for (const std::size_t given : {0, 1, 2, 3}) {
    std::thread gives([&] {
      const int client = accept4(server, nullptr, nullptr, SOCK_CLOEXEC);
      std::array<char, 32> word;
      CHECK(recv(client, word.data(), word.size(), MSG_WAITALL) == 32);
      CHECK(std::string_view(word.data(), word.size()) == WORD);
      Ends ends;
      const std::array<int, 3> descriptors = {ends.reader, ends.writer, ends.writer};
      if (given > 0) CHECK(workspace::pipe::send(client, std::span(descriptors).first(given)) == 0);
      close(client);
    });
    Streams streams;
    // Like the runner, a file in that directory; the directory's name is cut in the middle.
    const int met = meetServer((directory.substr(0, 5) + "runner").c_str(), path.substr(5), WORD);
    CHECK(met >= 0);
    CHECK((receiveStreams(met, streams) == 0) == (given >= 2));
    gives.join();
    close(met);
    if (given >= 2) closeStreams(streams);
  }
  CHECK(meetServer("/tmp/runner", "none", WORD) == -ENOENT);
  CHECK(meetServer((std::string(200, 'x') + "/runner").c_str(), NAME, WORD) == -ENAMETOOLONG);
  close(server);
  unlink(path.c_str());
}

TEST("descriptors are sent only to a connected peer") {
  int pair[2];
  CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
  const std::array<int, 5> descriptors = {0, 0, 0, 0, 0};
  CHECK(workspace::pipe::send(pair[0], std::span(descriptors)) == EINVAL);
  CHECK(workspace::pipe::send(pair[0], std::span<const int>()) == EINVAL);
  close(pair[1]);
  CHECK(workspace::pipe::send(pair[0], std::span(descriptors).first(1)) == EPIPE);
  CHECK(workspace::pipe::send(-1, std::span(descriptors).first(1)) == EBADF);
  close(pair[0]);
}

#endif
