#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "extent-memory.h"

namespace workspace::disk {

struct WalkOptions {
  /** Number of threads, including the caller's; 0 means the number of processors, at most 4. */
  unsigned threads = 0;
  /** Maximum number of open directories, besides those being read. */
  std::size_t openDirectories = 256;
  /** Files with less allocated space are not checked for sharing, which costs about as much as two more stats. */
  std::uint64_t extentsFromBytes = 0;
  /** Extents of files that have not changed since an earlier walk; null: read them all. */
  ExtentMemory* memory = nullptr;
  /** Time in seconds since 1970, by which `memory` ages. */
  std::int64_t now = 0;
  /** The walk fails with ECANCELED soon after this becomes true. */
  const std::atomic<bool>* cancelled = nullptr;
  /** Counts the entries seen so far. */
  std::atomic<std::uint64_t>* seen = nullptr;
};

/** Totals of a tree. Files with several names count once. */
struct WalkTotals {
  /** All entries except directories. */
  std::uint64_t files = 0;
  /** Directories, including the root. */
  std::uint64_t directories = 0;
  /** Apparent size (st_size) of regular files and symlinks. */
  std::uint64_t logicalBytes = 0;
  /** Allocated size of all entries, including directories, as by `du -s -B1`. */
  std::uint64_t physicalBytes = 0;
  /** Number of directories that could not be read completely. */
  std::uint64_t unreadable = 0;
  /** One of them, or empty. */
  std::string firstUnreadable;
};

/** Reason why there are no totals. */
struct WalkError {
  /** 0 means success. */
  int number = 0;
  const char* syscall = "";
  std::string path;
};

struct WalkedTree {
  WalkTotals totals;
  /** Set if the root is missing or unreadable. */
  WalkError error;
};

struct WalkReport {
  /** In the order of the roots. */
  std::vector<WalkedTree> trees;
  /**
   * Bytes that the sum of all physicalBytes counts more than once: extents that files share (reflinks), and files
   * with names in several of the trees.
   */
  std::uint64_t sharedBytes = 0;
  /** Files that the file system was asked about, because their extents were not known. */
  std::uint64_t askedFiles = 0;
};

/**
 * Counts each path and everything below it. Never follows symlinks or enters mounts below a root; ignores entries
 * that vanish during the walk.
 *
 * Returns an error when descriptors or memory are exhausted, or the walk is cancelled.
 */
WalkError walkTrees(const std::vector<std::string>& roots, const WalkOptions& options, WalkReport& report);

}  // namespace workspace::disk
