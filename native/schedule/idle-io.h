#pragma once

namespace workspace::schedule {

/**
 * While it exists, the calling thread uses disks only when no other program does, as far as the device's I/O scheduler
 * distinguishes (class "idle" of ioprio_set(2)). Does nothing on systems other than Linux.
 */
class IdleIo {
 public:
  IdleIo();
  ~IdleIo();
  IdleIo(const IdleIo&) = delete;
  IdleIo& operator=(const IdleIo&) = delete;

 private:
  /** Priority to return to; -1 if it was not changed. */
  long before_ = -1;
};

}  // namespace workspace::schedule
