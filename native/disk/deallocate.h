#pragma once

#include <cstdint>

namespace workspace::disk {

/** Makes a stretch of a file a hole, which reads as zeros; its size stays. 0 or the errno, EOPNOTSUPP where that cannot be done. */
int punchHole(int fd, std::uint64_t offset, std::uint64_t bytes);

/**
 * Takes the first bytes of a file away, and what follows moves to its beginning: one step for whoever writes to it at the same
 * time and appends. A whole number of the file system's blocks, and less than the file (fallocate(2), FALLOC_FL_COLLAPSE_RANGE). 0 or the errno, EOPNOTSUPP where that cannot be done.
 */
int collapseFront(int fd, std::uint64_t bytes);

}  // namespace workspace::disk
