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
 * Archives inside archives, inflated once for all threads of this process. Together they never hold more than a budget: who needs one waits until others are let go.
 * What nobody uses is kept for the next batch, up to a bound.
 */
class NestedArchives {
 public:
  /** For all archives inside archives of one process, with what they are inflated from. */
  static constexpr std::uint64_t budgetBytes = std::uint64_t{256} << 20;
  /** What inflates to more than this, and to more than `maxRatio` times its size, was made to be harmful. */
  static constexpr std::uint64_t manyBytes = std::uint64_t{16} << 20;
  static constexpr std::uint64_t maxRatio = 100;
  /** Kept of what nobody uses. */
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
  /** Keeps an inflated archive in memory as long as it lives. */
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
    /** nullptr, or a sentence that says why there are no bytes. */
    const char* fault() const { return entry_->fault; }

   private:
    NestedArchives* owner_ = nullptr;
    std::shared_ptr<Entry> entry_;
  };

  explicit NestedArchives(std::uint64_t budget = budgetBytes) : budget_(budget) {}

  /** Those of this process. */
  static NestedArchives& shared();

  /** Inflates an archive inside a file, or finds it; waits for memory, so that no thread may hold one lease and ask for another. */
  Lease open(const File& file, const Extent& extent);

  /** Memory in use and kept, in bytes. */
  std::uint64_t claimedBytes();

 private:
  const char* refusal(const Extent& extent) const;
  void letGo(const std::shared_ptr<Entry>& entry);
  bool makeRoom(std::uint64_t bytes);
  /** Lets go of what nobody uses, least recently used first, as long as more is kept than may be. */
  void dropIdle(std::uint64_t mostClaimed);

  const std::uint64_t budget_;
  std::mutex mutex_;
  std::condition_variable changed_;
  /** Least recently used first. */
  std::list<std::shared_ptr<Entry>> entries_;
  std::uint64_t claimed_ = 0;
};

}  // namespace workspace::archive
