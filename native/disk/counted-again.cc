#include "counted-again.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

namespace workspace::disk {

namespace {

/** Part of an address space, as one bit per block. */
class Window {
 public:
  /** 32 KiB, so that random bits are set in the processor's first cache: 1 GiB in blocks of 4 KiB. */
  static constexpr std::uint64_t bits = std::uint64_t{1} << 18;

  /** Sets the bits from `first` to below `end`. */
  void set(std::uint64_t first, std::uint64_t end) {
    const std::uint64_t last = end - 1;
    const std::uint64_t head = ~std::uint64_t{0} << (first % 64);
    const std::uint64_t tail = ~std::uint64_t{0} >> (63 - last % 64);
    if (first / 64 == last / 64) {
      words_[first / 64] |= head & tail;
      return;
    }
    words_[first / 64] |= head;
    std::fill(words_.begin() + static_cast<std::ptrdiff_t>(first / 64 + 1),
              words_.begin() + static_cast<std::ptrdiff_t>(last / 64), ~std::uint64_t{0});
    words_[last / 64] |= tail;
  }

  /** Returns the number of bits set, and clears them. */
  std::uint64_t take() {
    std::uint64_t count = 0;
    for (std::uint64_t& word : words_) {
      count += static_cast<std::uint64_t>(std::popcount(word));
      word = 0;
    }
    return count;
  }

 private:
  std::array<std::uint64_t, bits / 64> words_{};
};

/** Returns the number of blocks of 2^shift sectors in the union of the lists, which starts and lengths are multiples of. */
std::uint64_t blocksOfUnion(std::span<const PackedExtents* const> lists, unsigned shift) {
  auto window = std::make_unique<Window>();
  /** Lists by the window that their next extent begins in. */
  std::map<std::uint64_t, std::vector<ExtentCursor>> waiting;
  for (const PackedExtents* list : lists) {
    ExtentCursor cursor(*list);
    if (cursor.next()) waiting[(cursor.start >> shift) / Window::bits].push_back(cursor);
  }
  std::uint64_t blocks = 0;
  while (!waiting.empty()) {
    const auto first = waiting.extract(waiting.begin());
    const std::uint64_t begin = first.key() * Window::bits;
    const std::uint64_t limit = begin + Window::bits;
    for (ExtentCursor& cursor : first.mapped()) {
      bool hasMore = true;
      while (hasMore && (cursor.start >> shift) < limit) {
        const std::uint64_t start = cursor.start >> shift;
        const std::uint64_t end = start + (cursor.sectors >> shift);
        // What begins before the window overlaps the list's previous extent up to here.
        if (end > begin) window->set(std::max(start, begin) - begin, std::min(end, limit) - begin);
        if (end > limit) {
          // The rest belongs to later windows.
          cursor.start = limit << shift;
          cursor.sectors = (end - limit) << shift;
        } else {
          hasMore = cursor.next();
        }
      }
      if (hasMore) waiting[(cursor.start >> shift) / Window::bits].push_back(cursor);
    }
    blocks += window->take();
  }
  return blocks;
}

}  // namespace

std::uint64_t bytesCountedAgain(const std::vector<PlacedExtents>& lists) {
  std::unordered_map<std::uint64_t, std::vector<const PackedExtents*>> spaces;
  for (const PlacedExtents& each : lists) spaces[each.space].push_back(each.extents.get());
  std::uint64_t sectors = 0;
  for (const auto& [space, all] : spaces) {
    std::uint64_t sum = 0;
    std::uint64_t usedBits = 0;
    for (const PackedExtents* list : all) {
      sum += list->sectors();
      usedBits |= list->usedBits();
    }
    if (usedBits == 0) continue;
    const auto shift = static_cast<unsigned>(std::countr_zero(usedBits));
    sectors += sum - (blocksOfUnion(all, shift) << shift);
  }
  return sectors << PackedExtents::sectorShift;
}

}  // namespace workspace::disk
