#include "idle-io.h"

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <sys/syscall.h>
#include <unistd.h>

namespace workspace::schedule {

namespace {

// <linux/ioprio.h> does not exist before Linux 5.15.
constexpr int ofThread = 1;
constexpr long idleClass = 3L << 13;

}  // namespace

IdleIo::IdleIo() : before_(syscall(SYS_ioprio_get, ofThread, 0)) {
  if (before_ >= 0 && syscall(SYS_ioprio_set, ofThread, 0, idleClass) != 0) before_ = -1;
}

IdleIo::~IdleIo() {
  if (before_ >= 0) syscall(SYS_ioprio_set, ofThread, 0, before_);
}

}  // namespace workspace::schedule

#else

namespace workspace::schedule {

IdleIo::IdleIo() = default;
IdleIo::~IdleIo() = default;

}  // namespace workspace::schedule

#endif
