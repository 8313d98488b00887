#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "counted-again.h"
#include "extent-memory.h"
#include "stat-entry.h"

namespace workspace::disk {

/**
 * Finds the extents that files may share: by FIEMAP (https://docs.kernel.org/filesystems/fiemap.html), those of large
 * files on btrfs by BTRFS_IOC_TREE_SEARCH_V2 (btrfs-ioctl(2)), which takes a tenth of the time but needs
 * CAP_SYS_ADMIN. A file system without support has none: then the sizes are those of st_blocks.
 */
class ExtentReader {
 public:
  /**
   * @param memory extents from earlier walks, or null
   * @param now time in seconds since 1970, by which the memory ages
   * @param cancelled ends `read` early
   */
  ExtentReader(ExtentMemory* memory, std::int64_t now, const std::atomic<bool>* cancelled);

  /** Reads the regular file `name` in an open directory; an unreadable file has no extents. */
  void read(int directoryFd, const char* name, const EntryStat& entry);

  /** Returns the extents of all files that were read. */
  std::vector<PlacedExtents> take();

  /** Number of files that the file system was asked about. */
  std::uint64_t askedFiles() const { return askedFiles_; }

 private:
  /** Whether files are to be read: `space_` is then the address space of the file system. */
  bool canShare(int directoryFd, const char* name, const EntryStat& entry);
  void readFile(int fd, const EntryStat& entry);
  /** Puts the file's extents into `found_`. Returns whether they are complete and have a place. */
  bool mapFile(int fd);
  bool searchTree(int fd, std::uint64_t inode);
  bool isCancelled() const;
  void packFew();

  ExtentMemory* const memory_;
  const std::int64_t now_;
  const std::atomic<bool>* const cancelled_;
  std::uint64_t askedFiles_ = 0;
  std::vector<PlacedExtents> taken_;
  /** Shared extents of files with few, in the address space `fewSpace_`. */
  std::vector<Extent> few_;
  std::uint64_t fewSpace_ = 0;
  std::vector<Extent> found_;

  std::uint64_t lastDevice_ = 0;
  bool isKnown_ = false;
  bool canShare_ = false;
  bool isBtrfs_ = false;
  bool canSearch_ = true;
  std::uint64_t space_ = 0;
  /** Buffer for the kernel's response. */
  std::vector<std::uint64_t> buffer_;
};

}  // namespace workspace::disk
