#pragma once

#include <cstdint>
#include <vector>

#include "stat-entry.h"

namespace workspace::disk {

/** A range of a device that several files may share. */
struct Extent {
  /** Distinguishes the address spaces of file systems. */
  std::uint64_t space;
  std::uint64_t start;
  std::uint64_t bytes;
};

/**
 * Finds extents that a file shares with others, by FIEMAP (https://docs.kernel.org/filesystems/fiemap.html). Without
 * support in the file system, there are none: the sizes are then those of st_blocks.
 */
class ExtentReader {
 public:
  ExtentReader();

  /** Appends the shared extents of the regular file `name` in an open directory; an unreadable file has none. */
  void read(int directoryFd, const char* name, const EntryStat& entry, std::vector<Extent>& shared);

 private:
  bool canShare(int fd, const EntryStat& entry, std::uint64_t& space);

  std::uint64_t lastDevice_ = 0;
  bool isKnown_ = false;
  bool canShare_ = false;
  bool isBtrfs_ = false;
  /** Buffer for the kernel's response. */
  std::vector<std::uint64_t> buffer_;
};

/** Returns how many bytes of the extents are counted more than once. Sorts them. */
std::uint64_t bytesCountedAgain(std::vector<Extent>& extents);

}  // namespace workspace::disk
