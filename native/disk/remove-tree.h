#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace workspace::disk {

/** Why something could not be removed. */
struct RemoveError {
  /** 0: there is no error. */
  int number = 0;
  const char* syscall = "";
  std::string path;
};

/** What the names of things begin with that wait for their end, in the directory they were in: a rename never leaves its file system. */
extern const char* const trashPrefix;

/**
 * Renames the entry `name` of the directory `parent` below `root` to `trash`, so that after a crash it is one or the other, whole.
 * `root` is trusted and may be a symlink; below it none is followed (threats P1, P2). Needs no room on the disk. Errors: ELOOP or
 * ENOTDIR where a symlink stands in the way, EXDEV or EBUSY for a mount point, ESTALE when the entry was exchanged meanwhile,
 * EEXIST, EINVAL for what is no name.
 */
RemoveError moveToTrash(const std::string& root, const std::string& parent, const std::string& name,
                        const std::string& trash);

/** Gives an entry its name back, where that is still free. */
RemoveError restoreFromTrash(const std::string& root, const std::string& parent, const std::string& trash,
                             const std::string& name);

/**
 * Removes what is called `trash` with everything in it. Each step is one call relative to an open directory that follows no
 * symlink and enters no mount, so that whoever exchanges parts of the tree meanwhile moves nothing but their own. What cannot be
 * removed stays, and the first such thing is told; what is gone already is no error.
 *
 * @param removed counts what is gone so far
 */
RemoveError removeTrash(const std::string& root, const std::string& parent, const std::string& trash,
                        const std::atomic<bool>& cancelled, std::atomic<std::uint64_t>& removed);

}  // namespace workspace::disk
