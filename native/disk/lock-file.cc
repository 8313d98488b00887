#include "lock-file.h"

#include <sys/file.h>

#include <cerrno>

namespace workspace::disk {

int lockFile(int fd, bool isShared) {
  const int kind = isShared ? LOCK_SH : LOCK_EX;
  int result;
  do result = flock(fd, kind | LOCK_NB);
  while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

}  // namespace workspace::disk
