#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "packed-extents.h"

namespace workspace::disk {

/** Extents in the address space of a file system. */
struct PlacedExtents {
  std::uint64_t space;
  std::shared_ptr<const PackedExtents> extents;
};

/**
 * Returns how many bytes of the extents are counted more than once: the sum of their lengths without the size of
 * their union. The memory that it takes depends on the number of lists, not on that of the extents.
 */
std::uint64_t bytesCountedAgain(const std::vector<PlacedExtents>& lists);

}  // namespace workspace::disk
