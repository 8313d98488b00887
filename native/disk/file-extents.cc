#include "file-extents.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

// WORKSPACE_PORTABLE lets Linux build and test the code for other systems.
#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#define WORKSPACE_FIEMAP 1
#endif

namespace workspace::disk {

namespace {

/** Extents of small files are packed together, this many at a time. */
constexpr std::size_t fewPerList = 1 << 16;

}  // namespace

std::vector<PlacedExtents> ExtentReader::take() {
  packFew();
  return std::move(taken_);
}

void ExtentReader::packFew() {
  if (few_.empty()) return;
  taken_.push_back({fewSpace_, std::make_shared<PackedExtents>(few_)});
  few_.clear();
}

bool ExtentReader::isCancelled() const {
  return cancelled_ != nullptr && cancelled_->load(std::memory_order_relaxed);
}

#if WORKSPACE_FIEMAP

namespace {

/** A file with more is remembered: reading it again would take longer than looking it up. */
constexpr std::uint32_t fewExtents = 32;
/** XFS locks the file during a call, for 3 µs per shared extent. */
constexpr std::uint32_t extentsPerCall = 256;
constexpr std::size_t bufferBytes = std::size_t{64} * 1024;
/** Extents with unknown location on the device, or with `fe_length` different from the allocated size. */
constexpr std::uint32_t unplaced = FIEMAP_EXTENT_UNKNOWN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_ENCODED |
                                   FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL;
constexpr std::uint64_t mountSpace = std::uint64_t{1} << 63;

static_assert(sizeof(fiemap) + extentsPerCall * sizeof(fiemap_extent) <= bufferBytes);

/** Reads a file's extents from a position on into `buffer`. Returns 0 or an errno. */
int askExtents(int fd, std::uint64_t from, std::uint32_t count, std::vector<std::uint64_t>& buffer,
               std::span<const fiemap_extent>& extents) {
  auto* const map = reinterpret_cast<fiemap*>(buffer.data());
  *map = {};
  map->fm_start = from;
  map->fm_length = FIEMAP_MAX_OFFSET - from;
  map->fm_extent_count = count;
  if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) return errno;
  extents = {map->fm_extents, map->fm_mapped_extents};
  return 0;
}

bool isLast(const fiemap_extent& extent) { return (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0; }

bool isPlaced(const fiemap_extent& extent) { return (extent.fe_flags & unplaced) == 0; }

}  // namespace

ExtentReader::ExtentReader(ExtentMemory* memory, std::int64_t now, const std::atomic<bool>* cancelled)
    : memory_(memory), now_(now), cancelled_(cancelled), buffer_(bufferBytes / sizeof(std::uint64_t)) {}

/**
 * Depends on the file system type, asked once for each: ext4 and tmpfs cannot share, and a call per file would cost
 * as much as its statx. The directory's answer is valid for its entries, because other mounts are not walked.
 */
bool ExtentReader::canShare(int directoryFd, const char* name, const EntryStat& entry) {
  if (!isKnown_ || entry.device != lastDevice_) {
    struct statfs about;
    if ((directoryFd >= 0 ? fstatfs(directoryFd, &about) : statfs(name, &about)) != 0) return false;
    isKnown_ = true;
    lastDevice_ = entry.device;
    isBtrfs_ = about.f_type == BTRFS_SUPER_MAGIC;
    canShare_ = about.f_type != EXT4_SUPER_MAGIC && about.f_type != TMPFS_MAGIC && about.f_type != RAMFS_MAGIC;
  }
  // Subvolumes of one btrfs have different device numbers but share extents.
  space_ = isBtrfs_ && entry.mount != 0 ? mountSpace | entry.mount : entry.device;
  return canShare_;
}

void ExtentReader::read(int directoryFd, const char* name, const EntryStat& entry) {
  if (!canShare(directoryFd, name, entry)) return;
  if (memory_ != nullptr) {
    auto known = memory_->find(entry, now_);
    if (known != nullptr) {
      taken_.push_back({space_, std::move(known)});
      return;
    }
  }
  const int fd = openat(directoryFd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) return;
  readFile(fd, entry);
  close(fd);
}

void ExtentReader::readFile(int fd, const EntryStat& entry) {
  askedFiles_++;
  std::span<const fiemap_extent> extents;
  const int failure = askExtents(fd, 0, fewExtents, buffer_, extents);
  if (failure == EOPNOTSUPP || failure == ENOTTY) canShare_ = false;
  if (failure != 0 || extents.empty()) return;
  if (isLast(extents.back())) {
    if (fewSpace_ != space_ || few_.size() >= fewPerList) packFew();
    fewSpace_ = space_;
    for (const fiemap_extent& each : extents) {
      if ((each.fe_flags & FIEMAP_EXTENT_SHARED) != 0 && isPlaced(each))
        few_.push_back({each.fe_physical, each.fe_length});
    }
    return;
  }
  const bool isComplete = (isBtrfs_ && canSearch_ && searchTree(fd, entry.inode)) || mapFile(fd);
  const auto packed = std::make_shared<PackedExtents>(found_);
  taken_.push_back({space_, packed});
  if (isComplete && memory_ != nullptr) memory_->remember(entry, packed, now_);
}

/**
 * Includes extents that are not shared: a file that is cloned shares them without changing itself, and this may be
 * remembered until then.
 */
bool ExtentReader::mapFile(int fd) {
  found_.clear();
  bool isComplete = true;
  std::span<const fiemap_extent> extents;
  for (std::uint64_t from = 0;;) {
    if (isCancelled() || askExtents(fd, from, extentsPerCall, buffer_, extents) != 0) return false;
    if (extents.empty()) return isComplete;
    for (const fiemap_extent& each : extents) {
      if (isPlaced(each)) {
        found_.push_back({each.fe_physical, each.fe_length});
      } else if ((each.fe_flags & FIEMAP_EXTENT_ENCODED) == 0) {
        isComplete = false;
      }
    }
    const fiemap_extent& last = extents.back();
    if (isLast(last)) return isComplete;
    from = last.fe_logical + last.fe_length;
  }
}

/** Fails without CAP_SYS_ADMIN; compressed extents are left out, as by `mapFile`. */
bool ExtentReader::searchTree(int fd, std::uint64_t inode) {
  found_.clear();
  auto* const search = reinterpret_cast<btrfs_ioctl_search_args_v2*>(buffer_.data());
  for (std::uint64_t from = 0;;) {
    if (isCancelled()) return false;
    *search = {};
    btrfs_ioctl_search_key& key = search->key;
    key.min_objectid = key.max_objectid = inode;
    key.min_type = key.max_type = BTRFS_EXTENT_DATA_KEY;
    key.min_offset = from;
    key.max_offset = key.max_transid = UINT64_MAX;
    key.nr_items = UINT32_MAX;
    search->buf_size = bufferBytes - sizeof *search;
    if (ioctl(fd, BTRFS_IOC_TREE_SEARCH_V2, search) != 0) {
      if (errno == EPERM || errno == ENOTTY) canSearch_ = false;
      return false;
    }
    if (key.nr_items == 0) return true;
    const auto* at = reinterpret_cast<const std::uint8_t*>(search->buf);
    btrfs_ioctl_search_header header;
    for (std::uint32_t i = 0; i < key.nr_items; i++) {
      std::memcpy(&header, at, sizeof header);
      btrfs_file_extent_item item;
      if (header.len == sizeof item) {
        std::memcpy(&item, at + sizeof header, sizeof item);
        const bool hasPlace = item.type != BTRFS_FILE_EXTENT_INLINE && item.disk_bytenr != 0 && item.compression == 0;
        if (hasPlace) found_.push_back({le64toh(item.disk_bytenr) + le64toh(item.offset), le64toh(item.num_bytes)});
      }
      at += sizeof header + header.len;
    }
    if (header.offset == UINT64_MAX) return true;
    from = header.offset + 1;
  }
}

#else

ExtentReader::ExtentReader(ExtentMemory* memory, std::int64_t now, const std::atomic<bool>* cancelled)
    : memory_(memory), now_(now), cancelled_(cancelled) {}
void ExtentReader::read(int, const char*, const EntryStat&) {}

#endif

}  // namespace workspace::disk
