#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_set>

namespace workspace::disk {

/** Remembers which files with several names were counted, and in which tree; thread-safe. */
class LinkSet {
 public:
  enum class Met { first, firstInTree, again };

  Met add(std::uint64_t device, std::uint64_t inode, std::uint32_t tree) {
    const File file{device, inode, anyTree};
    Shard& shard = shards_[FileHash{}(file) % shards_.size()];
    const std::lock_guard lock(shard.mutex);
    if (!shard.files.insert({device, inode, tree}).second) return Met::again;
    return shard.files.insert(file).second ? Met::first : Met::firstInTree;
  }

 private:
  static constexpr std::uint32_t anyTree = UINT32_MAX;

  struct File {
    std::uint64_t device;
    std::uint64_t inode;
    std::uint32_t tree;
    bool operator==(const File&) const = default;
  };

  struct FileHash {
    std::size_t operator()(const File& file) const noexcept {
      // Fibonacci hashing: inode numbers come in runs, whose low bits would fill the shards one after the other.
      const std::uint64_t mixed =
          (file.inode ^ (file.device << 17) ^ (std::uint64_t{file.tree} << 40)) * 0x9E3779B97F4A7C15ULL;
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
