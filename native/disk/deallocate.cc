#include "deallocate.h"

#include <fcntl.h>

#include <cerrno>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)
#include <linux/falloc.h>
#define WORKSPACE_FALLOCATE 1
#endif

namespace workspace::disk {

#if WORKSPACE_FALLOCATE

int punchHole(int fd, std::uint64_t offset, std::uint64_t bytes) {
  const int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  return fallocate(fd, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

int collapseFront(int fd, std::uint64_t bytes) {
  return fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
}

#else

int punchHole(int, std::uint64_t, std::uint64_t) { return EOPNOTSUPP; }
int collapseFront(int, std::uint64_t) { return EOPNOTSUPP; }

#endif

}  // namespace workspace::disk
