#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace workspace::disk {

/** Reason why an entry could not be removed. */
struct RemoveError {
  /** 0 means success. */
  int number = 0;
  const char* syscall = "";
  std::string path;
};

/**
 * Prefix of entries waiting for deletion; they stay in their directory, because a rename never leaves its file
 * system.
 */
extern const char* const trashPrefix;

/**
 * Renames the entry `name` of the directory `parent` below `root` to `trash`, atomically even if the machine crashes.
 * `root` is trusted and may be a symlink; below it no symlink is followed (threats P1, P2). Needs no disk space.
 * Errors: ELOOP or ENOTDIR for a symlink in the path, EXDEV or EBUSY for a mount point, ESTALE when the entry was
 * replaced meanwhile, EEXIST, EINVAL for an invalid name.
 */
RemoveError moveToTrash(const std::string& root, const std::string& parent, const std::string& name,
                        const std::string& trash);

/** Restores an entry under its original name, if that is still free. */
RemoveError restoreFromTrash(const std::string& root, const std::string& parent, const std::string& trash,
                             const std::string& name);

/**
 * Removes the entry `trash` with all its content. Each step is one call relative to an open directory that follows no
 * symlink and enters no mount, so that concurrent changes of the tree can affect only the changed part. Entries that
 * cannot be removed stay; the first is reported. Missing entries are ignored.
 *
 * @param removed counts removed entries
 */
RemoveError removeTrash(const std::string& root, const std::string& parent, const std::string& trash,
                        const std::atomic<bool>& cancelled, std::atomic<std::uint64_t>& removed);

}  // namespace workspace::disk
