#include "packed-extents.h"

#include <algorithm>

namespace workspace::disk {

namespace {

constexpr std::uint64_t maxEnd = std::uint64_t{1} << 63;
constexpr std::uint64_t maxSectors = maxEnd >> PackedExtents::sectorShift;

bool isUsable(const Extent& extent) {
  return extent.bytes > 0 && extent.start < maxEnd && extent.bytes <= maxEnd - extent.start;
}

}  // namespace

PackedExtents::PackedExtents(std::vector<Extent>& extents) {
  std::erase_if(extents, [](const Extent& each) { return !isUsable(each); });
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.start < b.start; });
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < extents.size();) {
    const std::uint64_t start = extents[i].start;
    std::uint64_t end = start + extents[i].bytes;
    for (i++; i < extents.size() && extents[i].start == end; i++) end += extents[i].bytes;
    const std::uint64_t first = start >> sectorShift;
    const std::uint64_t length = ((end - 1) >> sectorShift) + 1 - first;
    append(first - previous);
    append(length);
    previous = first;
    sectors_ += length;
    usedBits_ |= first | length;
  }
  bytes_.shrink_to_fit();
}

std::shared_ptr<const PackedExtents> PackedExtents::restore(std::vector<std::uint8_t> bytes) {
  const std::shared_ptr<PackedExtents> restored(new PackedExtents);
  restored->bytes_ = std::move(bytes);
  ExtentCursor cursor(*restored);
  for (std::uint64_t previous = 0; cursor.next(); previous = cursor.start) {
    const bool isInOrder = cursor.start >= previous && cursor.start < maxSectors;
    if (!isInOrder || cursor.sectors == 0 || cursor.sectors > maxSectors - cursor.start) return nullptr;
    restored->sectors_ += cursor.sectors;
    restored->usedBits_ |= cursor.start | cursor.sectors;
  }
  return cursor.isAtEnd() ? restored : nullptr;
}

void PackedExtents::append(std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<std::uint8_t>(number | 0x80));
  bytes_.push_back(static_cast<std::uint8_t>(number));
}

}  // namespace workspace::disk
