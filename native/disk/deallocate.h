#pragma once

#include <cstdint>

namespace workspace::disk {

/**
 * Makes a range of a file a hole, which reads as zeros; its size stays. Returns 0 or the errno, EOPNOTSUPP if
 * unsupported.
 */
int punchHole(int fd, std::uint64_t offset, std::uint64_t bytes);

/**
 * Removes the first bytes of a file and shifts the rest to its start, atomically for concurrent appenders. The count
 * must be a multiple of the file system's block size, and less than the file's size (fallocate(2),
 * FALLOC_FL_COLLAPSE_RANGE). Returns 0 or the errno, EOPNOTSUPP if unsupported.
 */
int collapseFront(int fd, std::uint64_t bytes);

}  // namespace workspace::disk
