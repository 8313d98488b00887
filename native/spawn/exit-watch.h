#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

namespace workspace::spawn {

/** How a process ended. `code` is -1 where a signal ended it, and where nobody but its parent is told. */
struct Exit {
  pid_t pid;
  int code;
  int signal;
};

/**
 * Waits for the end of any number of processes in a thread of its own (pidfd_open(2)). A child that has ended is left for
 * the caller to reap: until then nobody else can have its id.
 */
class ExitWatch {
 public:
  /** @param onExit called in the watch's thread */
  explicit ExitWatch(std::function<void(const Exit&)> onExit);
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  /** Watches a process, whoever's it is. Returns 0 or the error number: ESRCH where there is none. */
  int add(pid_t pid);

 private:
  void run();

  std::function<void(const Exit&)> onExit;
  int poll = -1;
  int wake = -1;
  std::thread thread;
};

/** Lets go of a child that has ended. Whether there was one. */
bool reap(pid_t pid);

}  // namespace workspace::spawn
