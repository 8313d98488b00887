#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "extent.h"
#include "file.h"

namespace workspace::archive {

/**
 * Nested archives, inflated once for all threads of this process. Their total size never exceeds a budget: a thread
 * that needs one waits until others are released. Unused ones stay cached, up to a limit.
 */
class NestedArchives {
 public:
  /** Budget of all nested archives of one process, including their compressed data. */
  static constexpr std::uint64_t budgetBytes = std::uint64_t{256} << 20;
  /** An archive that inflates to more than this and to more than `maxRatio` times its size is treated as an attack. */
  static constexpr std::uint64_t manyBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t maxRatio = 100;
  /** Limit of unused cached archives. */
  static constexpr std::uint64_t idleBytes = std::uint64_t{32} << 20;

 private:
  struct Entry {
    std::string key;
    Pages bytes;
    std::uint64_t claimed = 0;
    std::size_t users = 1;
    bool isReady = false;
    const char* fault = nullptr;
  };

 public:
  /** Keeps an inflated archive in memory during its lifetime. */
  class Lease {
   public:
    Lease() = default;
    Lease(NestedArchives& owner, std::shared_ptr<Entry> entry) : owner_(&owner), entry_(std::move(entry)) {}
    Lease(Lease&& other) noexcept : owner_(other.owner_), entry_(std::move(other.entry_)) {}
    Lease& operator=(Lease&& other) noexcept;
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

    std::span<const std::uint8_t> bytes() const { return entry_->bytes.span(); }
    /** nullptr, or the reason why there are no bytes. */
    const char* fault() const { return entry_->fault; }

   private:
    NestedArchives* owner_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  explicit NestedArchives(std::uint64_t budget = budgetBytes) : budget_(budget) {}

  /** Returns the instance of this process. */
  static NestedArchives& shared();

  /**
   * Inflates an archive inside a file, or returns it from the cache. Waits for memory, so no thread may hold one lease
   * and request another.
   */
  Lease open(const File& file, const Extent& extent);

  /** Memory in use and cached, in bytes. */
  std::uint64_t claimedBytes();

 private:
  const char* refusal(const Extent& extent) const;
  void letGo(const std::shared_ptr<Entry>& entry);
  bool makeRoom(std::uint64_t bytes);
  /** Evicts unused archives, least recently used first, until the limit is met. */
  void dropIdle(std::uint64_t mostClaimed);

  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /** Least recently used first. */
  std::list<std::shared_ptr<Entry>> entries_;
  std::uint64_t claimed_ = 0;
};

}  // namespace workspace::archive
