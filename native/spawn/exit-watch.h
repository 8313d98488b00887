#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

namespace workspace::spawn {

/** Exit of a process. `code` is -1 if a signal terminated it, and if only its parent can know. */
struct Exit {
  pid_t pid;
  int code;
  int signal;
};

/**
 * Waits for the exit of any number of processes in a separate thread (pidfd_open(2)). The caller must reap an exited
 * child: until then its id cannot be reused.
 */
class ExitWatch {
 public:
  /** @param onExit called in the watch's thread */
  explicit ExitWatch(std::function<void(const Exit&)> onExit);
  ~ExitWatch();
  ExitWatch(const ExitWatch&) = delete;
  ExitWatch& operator=(const ExitWatch&) = delete;

  /** Watches any process, not only a child. Returns 0 or the errno: ESRCH if there is none. */
  int add(pid_t pid);

 private:
  void run();

  std::function<void(const Exit&)> onExit;
  int poll = -1;
  int wake = -1;
  std::thread thread;
};

/** Reaps an exited child; returns whether there was one. */
bool reap(pid_t pid);

}  // namespace workspace::spawn
