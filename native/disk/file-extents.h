#pragma once

#include <cstdint>
#include <vector>

#include "stat-entry.h"

namespace workspace::disk {

/** A stretch of a device that several files may share. */
struct Extent {
  /** Where the file system's own addresses are told apart from those of others. */
  std::uint64_t space;
  std::uint64_t start;
  std::uint64_t bytes;
};

/**
 * Finds what a file shares with others, by FIEMAP (https://docs.kernel.org/filesystems/fiemap.html). File systems that cannot
 * share, or do not tell, have nothing to add: the figures are then those of st_blocks.
 */
class ExtentReader {
 public:
  ExtentReader();

  /** Appends the shared extents of the regular file `name` in an opened directory; what cannot be read has none. */
  void read(int directoryFd, const char* name, const EntryStat& entry, std::vector<Extent>& shared);

 private:
  bool canShare(int fd, const EntryStat& entry, std::uint64_t& space);

  std::uint64_t lastDevice_ = 0;
  bool isKnown_ = false;
  bool canShare_ = false;
  bool isBtrfs_ = false;
  /** Room for one answer of the kernel. */
  std::vector<std::uint64_t> buffer_;
};

/** How many bytes of all these extents are counted more than once. Sorts them. */
std::uint64_t bytesCountedAgain(std::vector<Extent>& extents);

}  // namespace workspace::disk
