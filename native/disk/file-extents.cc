#include "file-extents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

// WORKSPACE_PORTABLE lets Linux build and test the code for other systems.
#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#define WORKSPACE_FIEMAP 1
#endif

namespace workspace::disk {

#if WORKSPACE_FIEMAP

namespace {

constexpr std::size_t extentsPerCall = 1024;
/** Extents with unknown location on the device, or with `fe_length` different from the allocated size. */
constexpr std::uint32_t unplaced = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |
                                   FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL;
constexpr std::uint64_t mountSpace = std::uint64_t{1} << 63;

}  // namespace

ExtentReader::ExtentReader()
    : buffer_((sizeof(fiemap) + extentsPerCall * sizeof(fiemap_extent)) / sizeof(std::uint64_t) + 1) {}

/**
 * Depends on the file system type, asked once for each: ext4 and tmpfs cannot share, and a call per file would cost
 * as much as its statx.
 */
bool ExtentReader::canShare(int fd, const EntryStat& entry, std::uint64_t& space) {
  if (!isKnown_ || entry.device != lastDevice_) {
    struct statfs about;
    if (fstatfs(fd, &about) != 0) return false;
    isKnown_ = true;
    lastDevice_ = entry.device;
    isBtrfs_ = about.f_type == BTRFS_SUPER_MAGIC;
    canShare_ = about.f_type != EXT4_SUPER_MAGIC && about.f_type != TMPFS_MAGIC && about.f_type != RAMFS_MAGIC;
  }
  // Subvolumes of one btrfs have different device numbers but share extents.
  space = isBtrfs_ && entry.mount != 0 ? mountSpace | entry.mount : entry.device;
  return canShare_;
}

void ExtentReader::read(int directoryFd, const char* name, const EntryStat& entry, std::vector<Extent>& shared) {
  std::uint64_t space = 0;
  // The directory's result is valid for its entries, because other mounts are not walked.
  if (directoryFd >= 0 && !canShare(directoryFd, entry, space)) return;
  const int fd = openat(directoryFd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  if (directoryFd < 0 && !canShare(fd, entry, space)) {
    close(fd);
    return;
  }
  auto* const map = reinterpret_cast<fiemap*>(buffer_.data());
  std::uint64_t from = 0;
  for (;;) {
    *map = {};
    map->fm_start = from;
    map->fm_length = FIEMAP_MAX_OFFSET - from;
    map->fm_extent_count = extentsPerCall;
    if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
      if (errno == EOPNOTSUPP || errno == ENOTTY) canShare_ = false;
      break;
    }
    if (map->fm_mapped_extents == 0) break;
    const fiemap_extent* const last = map->fm_extents + map->fm_mapped_extents - 1;
    for (const fiemap_extent* each = map->fm_extents; each <= last; each++) {
      if ((each->fe_flags & FIEMAP_EXTENT_SHARED) == 0 || (each->fe_flags & unplaced) != 0) continue;
      shared.push_back({space, each->fe_physical, each->fe_length});
    }
    if ((last->fe_flags & FIEMAP_EXTENT_LAST) != 0) break;
    from = last->fe_logical + last->fe_length;
  }
  close(fd);
}

#else

ExtentReader::ExtentReader() = default;
bool ExtentReader::canShare(int, const EntryStat&, std::uint64_t&) { return canShare_; }
void ExtentReader::read(int, const char*, const EntryStat&, std::vector<Extent>&) {}

#endif

std::uint64_t bytesCountedAgain(std::vector<Extent>& extents) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::tie(a.space, a.start) < std::tie(b.space, b.start);
  });
  std::uint64_t again = 0;
  std::uint64_t space = 0;
  std::uint64_t coveredTo = 0;
  bool isFirst = true;
  for (const Extent& each : extents) {
    if (isFirst || each.space != space) coveredTo = 0;
    isFirst = false;
    space = each.space;
    const std::uint64_t end = each.start + each.bytes;
    if (each.start < coveredTo) again += std::min(end, coveredTo) - each.start;
    coveredTo = std::max(coveredTo, end);
  }
  return again;
}

}  // namespace workspace::disk
