#include "stat-entry.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

// WORKSPACE_PORTABLE lets Linux build and test the code for other systems.
#if defined(__linux__) && defined(STATX_BASIC_STATS) && !defined(WORKSPACE_PORTABLE)
#define WORKSPACE_STATX 1
#endif

namespace workspace::disk {

namespace {

// POSIX leaves the unit of st_blocks open; Linux, macOS and the BSDs all count 512 bytes, regardless of st_blksize.
constexpr std::uint64_t blockBytes = 512;

}  // namespace

bool EntryStat::isDirectory() const { return S_ISDIR(mode); }
bool EntryStat::isRegularFile() const { return S_ISREG(mode); }
bool EntryStat::isSymlink() const { return S_ISLNK(mode); }

#if WORKSPACE_STATX

const char* const statSyscall = "statx";

int statEntry(int directoryFd, const char* name, EntryStat& entry) {
  unsigned mask = STATX_TYPE | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BLOCKS | STATX_MTIME | STATX_CTIME;
#ifdef STATX_MNT_ID
  mask |= STATX_MNT_ID;
#endif
  struct statx found;
  // DONT_SYNC: on network file systems a value some seconds old is preferable to a round trip per entry.
  const int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC;
  if (statx(directoryFd, name, flags, mask, &found) != 0) return errno;
  entry.device = (static_cast<std::uint64_t>(found.stx_dev_major) << 32) | found.stx_dev_minor;
  entry.inode = found.stx_ino;
  entry.links = found.stx_nlink;
  entry.logicalBytes = found.stx_size;
  entry.physicalBytes = found.stx_blocks * blockBytes;
  entry.modifiedSeconds = found.stx_mtime.tv_sec;
  entry.modifiedNanoseconds = found.stx_mtime.tv_nsec;
  entry.changedSeconds = found.stx_ctime.tv_sec;
  entry.changedNanoseconds = found.stx_ctime.tv_nsec;
  entry.mode = found.stx_mode;
#ifdef STATX_MNT_ID
  // Since Linux 5.8; older kernels leave the bit unset.
  entry.mount = (found.stx_mask & STATX_MNT_ID) != 0 ? found.stx_mnt_id : 0;
#endif
  return 0;
}

#else

const char* const statSyscall = "fstatat";

int statEntry(int directoryFd, const char* name, EntryStat& entry) {
  struct stat found;
  if (fstatat(directoryFd, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  entry.device = static_cast<std::uint64_t>(found.st_dev);
  entry.inode = static_cast<std::uint64_t>(found.st_ino);
  entry.links = static_cast<std::uint64_t>(found.st_nlink);
  entry.logicalBytes = static_cast<std::uint64_t>(found.st_size);
  entry.physicalBytes = static_cast<std::uint64_t>(found.st_blocks) * blockBytes;
#if defined(__APPLE__)
  const timespec& modified = found.st_mtimespec;
  const timespec& changed = found.st_ctimespec;
#else
  const timespec& modified = found.st_mtim;
  const timespec& changed = found.st_ctim;
#endif
  entry.modifiedSeconds = static_cast<std::int64_t>(modified.tv_sec);
  entry.modifiedNanoseconds = static_cast<std::uint32_t>(modified.tv_nsec);
  entry.changedSeconds = static_cast<std::int64_t>(changed.tv_sec);
  entry.changedNanoseconds = static_cast<std::uint32_t>(changed.tv_nsec);
  entry.mode = found.st_mode;
  entry.mount = 0;
  return 0;
}

#endif

}  // namespace workspace::disk
