#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include "../confine/call-filter.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <thread>

#include "../confine/landlock.h"
#include "check.h"
#include "temp-tree.h"

using workspace::confine::installCallFilter;
using workspace::confine::landlockVersion;
using workspace::confine::restrictFiles;
using workspace::test::TempTree;

namespace {

/** Runs steps in a child until one fails; returns that step's number, or 0. */
int failedStep(std::initializer_list<std::function<bool()>> steps) {
  const pid_t child = fork();
  if (child == 0) {
    int number = 0;
    for (const auto& step : steps) {
      number++;
      if (!step()) _exit(number);
    }
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

bool isRefused(long result, int error = EPERM) { return result == -1 && errno == error; }

/** The arguments are invalid for every call, so an allowed call fails with another error. */
bool isCallRefused(long number, int error = EPERM) { return isRefused(syscall(number, -1, -1, -1, -1, -1, -1), error); }

bool canOpen(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

}  // namespace

TEST("a call filter refuses calls that reading does not need and allows the others") {
  // The same path at two addresses that share one half.
  static const char allowed[] = "/bin/sh";
  static const char nearby[] = "/bin/sh";
  const auto address = reinterpret_cast<std::uintptr_t>(allowed);
  const std::uintptr_t far = (address & 0xffffffff) | std::uintptr_t{0x1234} << 32;
  void* const page = mmap(reinterpret_cast<void*>(far & ~std::uintptr_t{4095}), 2 * 4096, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  CHECK(page != MAP_FAILED);
  char* const farAway = std::strcpy(reinterpret_cast<char*>(far), allowed);
  char sh[] = "sh", c[] = "-c", end[] = "exit 100";
  char* const arguments[] = {sh, c, end, nullptr};
  CHECK(failedStep({
            [&] { return installCallFilter(allowed) == 0; },
            [] {
              for (const long call : {SYS_socket, SYS_connect, SYS_bind, SYS_accept4, SYS_ptrace, SYS_process_vm_writev, SYS_unshare, SYS_setns, SYS_mount,
                                      SYS_fchmod, SYS_fchownat, SYS_utimensat, SYS_fsetxattr, SYS_mknodat, SYS_bpf, SYS_keyctl, SYS_shmget, SYS_execveat,
                                      SYS_truncate, SYS_setpriority, SYS_inotify_init1})
                if (!isCallRefused(call)) return false;
              return true;
            },
            [] { return isCallRefused(SYS_clone3, ENOSYS); },
            [] { return isRefused(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); },
            [] { return isRefused(kill(getppid(), 0)) && isRefused(kill(0, 0)) && isRefused(kill(-1, 0)); },
            [] { return kill(getpid(), 0) == 0; },
            [&] { return isRefused(execve(nearby, arguments, environ)); },
            [&] { return isRefused(execve(farAway, arguments, environ)); },
            [] { return canOpen("/dev/null", O_RDWR); },
            [] {
              bool hasRun = false;
              std::thread([&] { hasRun = true; }).join();
              return hasRun;
            },
            // The allowed program, by its exact address.
            [&] {
              end[5] = '2';
              return execve(allowed, arguments, environ) == 0;
            },
        }) == 200);
}

#if defined(__x86_64__)
TEST("a call filter refuses the second table of calls") {
  CHECK(failedStep({
            [] { return installCallFilter("") == 0; },
            [] { return isCallRefused(0x40000000 | 41, ENOSYS) && isCallRefused(0x40000000 | 59, ENOSYS); },
        }) == 0);
}
#endif

TEST("a restricted process can access only the named paths") {
  if (landlockVersion() == 0) return;
  const TempTree tree;
  const std::string readable = tree.at("readable"), writable = tree.at("writable"), other = tree.at("other");
  for (const std::string& each : {readable, writable, other}) CHECK(mkdir(each.c_str(), 0700) == 0);
  for (const std::string& each : {readable, writable, other}) CHECK(canOpen(each + "/file", O_CREAT | O_WRONLY));
  CHECK(symlink((other + "/file").c_str(), (readable + "/link").c_str()) == 0);
  const std::string missing = tree.at("missing");
  const std::string reads[] = {readable, missing};
  const std::string writes[] = {writable};
  CHECK(failedStep({
            [&] { return restrictFiles({reads, writes}) == 0; },
            [&] { return canOpen(readable + "/file", O_RDONLY) && canOpen(writable + "/file", O_RDWR); },
            [&] { return canOpen(writable + "/new", O_CREAT | O_WRONLY) && unlink((writable + "/new").c_str()) == 0; },
            [&] { return !canOpen(readable + "/file", O_WRONLY) && errno == EACCES; },
            [&] { return !canOpen(readable + "/new", O_CREAT | O_WRONLY) && errno == EACCES; },
            [&] { return isRefused(unlink((readable + "/file").c_str()), EACCES); },
            [&] { return !canOpen(other + "/file", O_RDONLY) && errno == EACCES; },
            [&] { return !canOpen(readable + "/link", O_RDONLY) && errno == EACCES; },
            [&] { return !canOpen(readable + "/../other/file", O_RDONLY) && errno == EACCES; },
            [&] { return isRefused(rename((writable + "/file").c_str(), (other + "/moved").c_str()), EXDEV) || errno == EACCES; },
            [&] { return restrictFiles({{}, {}}) == 0 && !canOpen(readable + "/file", O_RDONLY); },
        }) == 0);
}

#endif
