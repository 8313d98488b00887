#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "packed-extents.h"
#include "stat-entry.h"

namespace workspace::disk {

/**
 * Extents of files that have not changed since they were read; thread-safe. A file is recognized by device, inode,
 * time of its last change, and sizes. An inode number that is used again has a later time.
 *
 * Not everything that moves extents changes that time: data is placed some time after it was written, and file systems
 * are balanced and defragmented. So extents are not remembered while a file changes, and for a day at most.
 */
class ExtentMemory {
 public:
  explicit ExtentMemory(std::size_t maxBytes) : maxBytes_(maxBytes) {}

  /** Called before a walk. Extents that neither this walk nor a later one uses are the first to be forgotten. */
  void beginWalk();

  /** Returns the extents of a file, or null. @param now seconds since 1970 */
  std::shared_ptr<const PackedExtents> find(const EntryStat& entry, std::int64_t now);

  /** Remembers extents that were read after `entry`, if they can be trusted and there is room. */
  void remember(const EntryStat& entry, std::shared_ptr<const PackedExtents> extents, std::int64_t now);

  /** Returns everything in a form that `restore` reads; empty if little is new since the last call. */
  std::vector<std::uint8_t> save(std::int64_t now);

  /** Adds what `save` returned in another process. Returns false if it is damaged: then it adds nothing. */
  bool restore(std::span<const std::uint8_t> saved);

 private:
  /** Device and inode. */
  using File = std::pair<std::uint64_t, std::uint64_t>;

  struct Known {
    std::int64_t changedSeconds;
    std::uint32_t changedNanoseconds;
    std::uint64_t logicalBytes;
    std::uint64_t physicalBytes;
    std::int64_t readAt;
    std::uint64_t usedInWalk;
    std::shared_ptr<const PackedExtents> extents;
  };
  using Files = std::map<File, Known>;

  bool makeRoom(std::size_t bytes);
  Files::iterator forget(Files::iterator file);
  void add(const File& file, Known known);
  static std::size_t bytesOf(const Known& known);

  const std::size_t maxBytes_;
  std::mutex mutex_;
  Files files_;
  std::size_t bytes_ = 0;
  std::size_t unsavedBytes_ = 0;
  std::uint64_t walk_ = 0;
  /** Last walk for which there was no room: nothing more can be forgotten in it. */
  std::uint64_t fullInWalk_ = 0;
};

}  // namespace workspace::disk
