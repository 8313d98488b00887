#pragma once

#include <sys/types.h>

namespace workspace::fifo {

/** Makes a FIFO with exactly these permissions, whatever the umask. Returns 0 or the error number. */
int make(const char* path, mode_t mode);

/**
 * Asks for room for so many bytes in a pipe; the system rounds up. Returns 0 or the error number: EPERM beyond what a
 * user's pipes may hold together, ENOSYS where the system has no say in it.
 */
int setCapacity(int fd, int bytes);

}  // namespace workspace::fifo
