#include "program.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace workspace::run {

namespace {

constexpr std::string_view DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
constexpr int NOT_FOUND = 127;
constexpr int NOT_RUNNABLE = 126;

/** Executes the program, or returns the errno. */
int execute(char* const* argv, const char* file) {
  execve(file, argv, environ);
  return errno;
}

/** Executes the first executable program of that name. */
int executeByPath(char* const* argv, std::string_view directories) {
  const std::string_view name = argv[0];
  std::array<char, PATH_MAX> file;
  int error = ENOENT;
  while (true) {
    const std::size_t end = std::min(directories.find(':'), directories.size());
    // An empty one means the working directory, where anybody may have put a program of a common name.
    if (end > 0 && end + 1 + name.size() < file.size()) {
      auto next = std::copy_n(directories.begin(), end, file.begin());
      *next++ = '/';
      *std::copy(name.begin(), name.end(), next) = '\0';
      const int found = execute(argv, file.data());
      // A program that exists but is not executable determines the error if there is no other.
      if (found != ENOENT && found != ENOTDIR) error = found;
      if (found != ENOENT && found != ENOTDIR && found != EACCES) return error;
    }
    if (end == directories.size()) return error;
    directories.remove_prefix(end + 1);
  }
}

int becomeAny(char* const* argv) {
  if (std::strchr(argv[0], '/') != nullptr) return execute(argv, argv[0]);
  const char* path = std::getenv("PATH");
  return executeByPath(argv, path == nullptr ? DEFAULT_PATH : std::string_view(path));
}

void tellFailure(const char* name, int error) {
  std::array<char, 512> line;
  const int length =
      std::snprintf(line.data(), line.size(), "cannot run %.400s: %s\n", name, std::strerror(error));
  const std::size_t size = std::min(static_cast<std::size_t>(std::max(length, 0)), line.size() - 1);
  // If nobody reads standard error, there is nowhere to report that.
  if (write(STDERR_FILENO, line.data(), size) < 0) return;
}

}  // namespace

void executeProgram(char* const* argv) {
  const int error = becomeAny(argv);
  tellFailure(argv[0], error);
  _exit(error == ENOENT || error == ENOTDIR ? NOT_FOUND : NOT_RUNNABLE);
}

pid_t startProgram(char* const* argv, const Streams& streams, const sigset_t& mask) {
  // The child shares our memory until it executes the program: nothing is copied, and when this returns the program
  // already leads its group.
  const pid_t child = vfork();
  if (child < 0) return -errno;
  if (child > 0) return child;
  setsid();
  for (int fd = 0; fd < static_cast<int>(streams.size()); fd++) {
    if (dup2(streams[static_cast<std::size_t>(fd)], fd) < 0) _exit(NOT_RUNNABLE);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  executeProgram(argv);
}

void signalProgram(pid_t program, int number) { kill(-program, number); }

}  // namespace workspace::run
