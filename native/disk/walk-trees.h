#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace workspace::disk {

struct WalkOptions {
  /** How many threads work, the caller's among them; 0 means as many as the machine has, at most 4. */
  unsigned threads = 0;
  /** How many directories may be open at once, besides those that a thread is at. */
  std::size_t openDirectories = 256;
  /** A file that has allocated less is not asked what it shares: that costs about as much as two more looks at it. */
  std::uint64_t extentsFromBytes = 0;
  /** The walk ends with ECANCELED soon after this becomes true. */
  const std::atomic<bool>* cancelled = nullptr;
  /** Counts the entries seen so far. */
  std::atomic<std::uint64_t>* seen = nullptr;
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

struct WalkedTree {
  WalkTotals totals;
  /** A root that is missing or cannot be read. */
  WalkError error;
};

struct WalkReport {
  /** In the order of the roots. */
  std::vector<WalkedTree> trees;
  /**
   * What the sum of all physicalBytes counts more than once: extents that files share (reflinks), and files that have names in
   * several of the trees.
   */
  std::uint64_t sharedBytes = 0;
};

/**
 * Counts what is below each path, and the path itself. Symlinks are never followed, mounts below a root never entered; what
 * vanishes during the walk is left out.
 *
 * An error is: no descriptors or memory left, cancellation.
 */
WalkError walkTrees(const std::vector<std::string>& roots, const WalkOptions& options, WalkReport& report);

}  // namespace workspace::disk
