#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace workspace::disk {

/** Remembers which files with several names were counted; safe from several threads. */
class LinkSet {
 public:
  /** Whether the file is met for the first time. */
  bool add(std::uint64_t device, std::uint64_t inode) {
    const File file{device, inode};
    const std::size_t hash = FileHash{}(file);
    Shard& shard = shards_[hash % shards_.size()];
    const std::lock_guard lock(shard.mutex);
    return shard.files.insert(file).second;
  }

 private:
  struct File {
    std::uint64_t device;
    std::uint64_t inode;
    bool operator==(const File&) const = default;
  };

  struct FileHash {
    std::size_t operator()(const File& file) const noexcept {
      // Fibonacci hashing: inode numbers come in runs, and their low bits alone would fill one shard after the other.
      const std::uint64_t mixed = (file.inode ^ (file.device << 17)) * 0x9E3779B97F4A7C15ULL;
      return static_cast<std::size_t>(mixed >> 16);
    }
  };

  struct Shard {
    std::mutex mutex;
    std::unordered_set<File, FileHash> files;
  };

  std::array<Shard, 16> shards_;
};

}  // namespace workspace::disk
