#include "schedule.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <dirent.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>

namespace workspace::schedule {

namespace {

constexpr unsigned long long SLICE_NS = 500'000;

/** Reads a thread's attributes, and sets the short slice in them. */
int readAttributes(pid_t thread, sched_attr& attributes) {
  if (syscall(SYS_sched_getattr, thread, &attributes, sizeof attributes, 0) != 0) return errno;
  attributes.sched_runtime = SLICE_NS;
  return 0;
}

int writeAttributes(pid_t thread, sched_attr& attributes) {
  return syscall(SYS_sched_setattr, thread, &attributes, 0) == 0 ? 0 : errno;
}

int prioritizeThread(pid_t thread, int niceness) {
  sched_attr attributes = {};
  const int error = readAttributes(thread, attributes);
  if (error != 0) return error;
  attributes.sched_flags |= SCHED_FLAG_RESET_ON_FORK;
  attributes.sched_nice = niceness;
  return writeAttributes(thread, attributes);
}

}  // namespace

int shortenSlice() {
  sched_attr attributes = {};
  const int error = readAttributes(0, attributes);
  return error == 0 ? writeAttributes(0, attributes) : error;
}

int prioritize(int niceness) {
  DIR* threads = opendir("/proc/self/task");
  if (threads == nullptr) return errno;
  int error = 0;
  while (const dirent* entry = readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    const int failed = prioritizeThread(std::atoi(entry->d_name), niceness);
    // A thread that has exited meanwhile is ignored.
    if (failed != ESRCH && error == 0) error = failed;
  }
  closedir(threads);
  return error;
}

}  // namespace workspace::schedule

#else

namespace workspace::schedule {

int shortenSlice() { return ENOSYS; }

int prioritize(int) { return ENOSYS; }

}  // namespace workspace::schedule

#endif
