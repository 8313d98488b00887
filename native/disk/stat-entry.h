#pragma once

#include <cstdint>

namespace workspace::disk {

/** What a walk needs to know of one entry. */
struct EntryStat {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  /** Which mount the entry was reached through; 0 where the system does not tell. */
  std::uint64_t mount = 0;
  std::uint64_t links = 0;
  /** Apparent size, st_size. */
  std::uint64_t logicalBytes = 0;
  /** What is allocated. */
  std::uint64_t physicalBytes = 0;
  /** When its contents were last changed. */
  std::int64_t modifiedSeconds = 0;
  std::uint32_t modifiedNanoseconds = 0;
  std::uint32_t mode = 0;

  bool isDirectory() const;
  bool isRegularFile() const;
  bool isSymlink() const;
};

/** The name of the system call behind statEntry, for error objects. */
extern const char* const statSyscall;

/**
 * Reads an entry's figures without following a symlink.
 *
 * @param directoryFd the directory `name` is relative to, or AT_FDCWD
 * @return 0, or the errno
 */
int statEntry(int directoryFd, const char* name, EntryStat& entry);

}  // namespace workspace::disk
