#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace workspace::digest {

/** Distinct pairs of whole numbers, by id from 0. */
class PairIds {
 public:
  std::int32_t idOf(std::int32_t first, std::int32_t second) {
    if ((size() + 1) * 2 > slots_.size()) grow();
    std::size_t at = slotOf(first, second);
    for (; slots_[at] >= 0; at = (at + 1) & (slots_.size() - 1)) {
      const auto id = static_cast<std::size_t>(slots_[at]);
      if (firsts_[id] == first && seconds_[id] == second) return slots_[at];
    }
    slots_[at] = static_cast<std::int32_t>(size());
    firsts_.push_back(first);
    seconds_.push_back(second);
    return slots_[at];
  }

  std::size_t size() const { return firsts_.size(); }
  const std::vector<std::int32_t>& firsts() const { return firsts_; }
  const std::vector<std::int32_t>& seconds() const { return seconds_; }

 private:
  std::size_t slotOf(std::int32_t first, std::int32_t second) const {
    const std::uint64_t both = static_cast<std::uint64_t>(static_cast<std::uint32_t>(first)) << 32 | static_cast<std::uint32_t>(second);
    return static_cast<std::size_t>(both * 0x9e3779b97f4a7c15 >> 32) & (slots_.size() - 1);
  }

  void grow() {
    slots_.assign(slots_.size() * 2, -1);
    for (std::size_t id = 0; id < size(); id++) {
      std::size_t at = slotOf(firsts_[id], seconds_[id]);
      while (slots_[at] >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::int32_t>(id);
    }
  }

  std::vector<std::int32_t> firsts_;
  std::vector<std::int32_t> seconds_;
  /** Open addressing, at most half full; -1 is free. */
  std::vector<std::int32_t> slots_ = std::vector<std::int32_t>(1 << 12, -1);
};

}  // namespace workspace::digest
