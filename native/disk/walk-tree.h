#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace workspace::disk {

struct WalkOptions {
  /** How many threads work, the caller's among them; 0 means as many as the machine has, at most 4. */
  unsigned threads = 0;
  /** How many directories may be open at once, besides one for each thread. */
  int openDirectories = 256;
  /** The walk ends with ECANCELED soon after this becomes true. */
  const std::atomic<bool>* cancelled = nullptr;
};

/** What a tree holds. Files with several names count once. */
struct WalkTotals {
  /** Everything but directories. */
  std::uint64_t files = 0;
  /** The root among them. */
  std::uint64_t directories = 0;
  /** Apparent size (st_size) of regular files and symlinks. */
  std::uint64_t logicalBytes = 0;
  /** What all entries have allocated, directories included: the figure of `du -s -B1`. */
  std::uint64_t physicalBytes = 0;
  /** Directories whose entries could not all be seen. */
  std::uint64_t unreadable = 0;
  /** One of them, or empty. */
  std::string firstUnreadable;
};

/** Why there are no totals. */
struct WalkError {
  /** 0: there is no error. */
  int number = 0;
  const char* syscall = "";
  std::string path;
};

/**
 * Counts what is below a path, and the path itself. Symlinks are never followed, mounts below the root never entered;
 * what vanishes during the walk is left out.
 *
 * An error is: a root that is missing or cannot be read, no descriptors or memory left, cancellation.
 */
WalkError walkTree(const std::string& root, const WalkOptions& options, WalkTotals& totals);

}  // namespace workspace::disk
