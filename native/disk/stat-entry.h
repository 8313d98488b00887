#pragma once

#include <cstdint>

namespace workspace::disk {

/** Properties of an entry that a walk needs. */
struct EntryStat {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  /** Mount through which the entry was reached; 0 if the system does not report it. */
  std::uint64_t mount = 0;
  std::uint64_t links = 0;
  /** Apparent size, st_size. */
  std::uint64_t logicalBytes = 0;
  /** Allocated size. */
  std::uint64_t physicalBytes = 0;
  /** Time of the last modification. */
  std::int64_t modifiedSeconds = 0;
  std::uint32_t modifiedNanoseconds = 0;
  /** Time of the last change of content or properties. */
  std::int64_t changedSeconds = 0;
  std::uint32_t changedNanoseconds = 0;
  std::uint32_t mode = 0;

  bool isDirectory() const;
  bool isRegularFile() const;
  bool isSymlink() const;
};

/** Name of the system call behind statEntry, for error objects. */
extern const char* const statSyscall;

/**
 * Reads an entry's properties without following a symlink.
 *
 * @param directoryFd the directory `name` is relative to, or AT_FDCWD
 * @return 0, or the errno
 */
int statEntry(int directoryFd, const char* name, EntryStat& entry);

}  // namespace workspace::disk
