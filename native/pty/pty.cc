#include "pty.h"

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace workspace::pty {

int make(int columns, int rows, Pty& made) {
  Pty pty;
  pty.near = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (pty.near < 0) return errno;
  // By the near end instead of its name: /dev/pts may belong to another instance here.
  if (unlockpt(pty.near) == 0) pty.far = ioctl(pty.near, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
  const int error = pty.far < 0 ? errno : resize(pty.near, columns, rows);
  if (error == 0) {
    made = pty;
    return 0;
  }
  close(pty.near);
  if (pty.far >= 0) close(pty.far);
  return error;
}

int resize(int near, int columns, int rows) {
  winsize size = {};
  size.ws_col = static_cast<unsigned short>(columns);
  size.ws_row = static_cast<unsigned short>(rows);
  return ioctl(near, TIOCSWINSZ, &size) < 0 ? errno : 0;
}

}  // namespace workspace::pty

#else

namespace workspace::pty {

int make(int, int, Pty&) { return ENOSYS; }
int resize(int, int, int) { return ENOSYS; }

}  // namespace workspace::pty

#endif
