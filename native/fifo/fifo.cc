#include "fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace workspace::fifo {

int make(const char* path, mode_t mode) {
  if (mkfifo(path, mode) < 0) return errno;
  if (chmod(path, mode) == 0) return 0;
  const int error = errno;
  unlink(path);
  return error;
}

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

int setCapacity(int fd, int bytes) { return fcntl(fd, F_SETPIPE_SZ, bytes) < 0 ? errno : 0; }

#else

int setCapacity(int, int) { return ENOSYS; }

#endif

}  // namespace workspace::fifo
