#include "remove-tree.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "beneath.h"
#include "directory-reader.h"

namespace workspace::disk {

const char* const trashPrefix = ".trash-";

namespace {

/** Deeper directories are first moved up, which bounds the number of open descriptors. */
constexpr std::size_t maxDepth = 32;

/** Fails if the new name exists. */
int renameExclusively(int fromFd, const std::string& from, int toFd, const std::string& to) {
#if defined(__linux__) && defined(RENAME_NOREPLACE)
  if (renameat2(fromFd, from.c_str(), toFd, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  // Some file systems do not support the flag.
  if (errno != EINVAL && errno != ENOSYS) return errno;
#endif
  struct stat taken;
  if (fstatat(toFd, to.c_str(), &taken, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(fromFd, from.c_str(), toFd, to.c_str()) == 0 ? 0 : errno;
}

RemoveError failure(int number, const char* syscall, const std::string& path) { return {number, syscall, path}; }

bool isTrash(const std::string& name) { return isName(name) && name.starts_with(trashPrefix); }

/** Directory of the entries to remove; its path is for messages. */
struct ParentDirectory {
  ScopedFd fd;
  std::string path;
};

RemoveError openParent(const std::string& root, const std::string& parent, ParentDirectory& directory) {
  directory.path = parent == "." ? root : root + "/" + parent;
  const ScopedFd rootFd(open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (rootFd.get() < 0) return failure(errno, "open", root);
  // A part of it may be a separate disk, by the operator's choice.
  const int opened = openDirectoryBeneath(rootFd.get(), parent, Mounts::enter);
  if (opened < 0) return failure(-opened, "openat2", directory.path);
  directory.fd = ScopedFd(opened);
  return {};
}

RemoveError renameIn(const ParentDirectory& directory, const std::string& from, const std::string& to) {
  const int number = renameExclusively(directory.fd.get(), from, directory.fd.get(), to);
  return number == 0 ? RemoveError{} : failure(number, "renameat2", directory.path + "/" + from);
}

RemoveError sync(const ParentDirectory& directory) {
  return fsync(directory.fd.get()) == 0 ? RemoveError{} : failure(errno, "fsync", directory.path);
}

class Removal {
 public:
  Removal(int placeFd, const std::string& trash, const std::atomic<bool>& cancelled, std::atomic<std::uint64_t>& removed)
      : placeFd_(placeFd), waiting_{trash}, trash_(trash), cancelled_(cancelled), removed_(removed) {}

  RemoveError run() {
    while (!waiting_.empty() && !isCancelled()) {
      const std::string next = std::move(waiting_.back());
      waiting_.pop_back();
      removeEntry(placeFd_, next, next, 0);
    }
    if (isCancelled()) note(ECANCELED, "unlinkat", trash_);
    return std::move(error_);
  }

 private:
  /** Removes a file, or a directory with its content. */
  void removeEntry(int directoryFd, const std::string& name, const std::string& path, std::size_t depth) {
    if (unlinkat(directoryFd, name.c_str(), 0) == 0) {
      removed_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (errno == ENOENT) return;
    // For a directory, Linux returns EISDIR; POSIX and macOS EPERM.
    if (errno != EISDIR && errno != EPERM) return note(errno, "unlinkat", path);
    const int refusal = errno;
    if (depth == maxDepth) {
      const std::string moved = trash_ + "-" + std::to_string(++moves_);
      const int number = renameExclusively(directoryFd, name, placeFd_, moved);
      if (number == 0) waiting_.push_back(moved);
      if (number != 0 && number != ENOENT) note(number, "renameat2", path);
      return;
    }
    const ScopedFd opened(openDirectoryBeneath(directoryFd, name, Mounts::refuse));
    if (opened.get() < 0) {
      const int number = -opened.get();
      if (number == ENOENT) return;
      // It is not a directory: the file could not be unlinked for lack of permission.
      return note(number == ENOTDIR && refusal == EPERM ? EPERM : number, "openat2", path);
    }
    empty(opened.get(), path, depth);
    if (isCancelled()) return;
    if (unlinkat(directoryFd, name.c_str(), AT_REMOVEDIR) == 0) {
      removed_.fetch_add(1, std::memory_order_relaxed);
    } else if (errno != ENOENT) {
      note(errno, "unlinkat", path);
    }
  }

  /** Reads again while that finds removable entries: a single pass over a changing directory may miss some. */
  void empty(int fd, const std::string& path, std::size_t depth) {
    for (;;) {
      const std::uint64_t before = gone_;
      std::vector<std::string> names;
      if (lseek(fd, 0, SEEK_SET) < 0) return note(errno, "lseek", path);
      reader_.start(fd);
      while (const char* name = reader_.next()) {
        if (isCancelled()) return;
        if (unlinkat(fd, name, 0) == 0) {
          removed_.fetch_add(1, std::memory_order_relaxed);
          gone_++;
        } else if (errno != ENOENT) {
          names.emplace_back(name);
        }
      }
      if (reader_.failure() != 0 && reader_.failure() != ENOENT) note(reader_.failure(), "getdents64", path);
      for (const std::string& name : names) {
        if (isCancelled()) return;
        const std::uint64_t count = removed_.load(std::memory_order_relaxed) + moves_;
        removeEntry(fd, name, path + "/" + name, depth + 1);
        if (removed_.load(std::memory_order_relaxed) + moves_ != count) gone_++;
      }
      if (gone_ == before || error_.number != 0) return;
    }
  }

  void note(int number, const char* syscall, const std::string& path) {
    if (error_.number == 0) error_ = failure(number, syscall, path);
  }

  bool isCancelled() const { return cancelled_.load(std::memory_order_relaxed); }

  const int placeFd_;
  std::vector<std::string> waiting_;
  const std::string trash_;
  const std::atomic<bool>& cancelled_;
  std::atomic<std::uint64_t>& removed_;
  /** Finished with one directory before it starts another. */
  DirectoryReader reader_;
  std::uint64_t gone_ = 0;
  std::uint64_t moves_ = 0;
  RemoveError error_;
};

}  // namespace

RemoveError moveToTrash(const std::string& root, const std::string& parent, const std::string& name,
                        const std::string& trash) {
  const std::string path = root + "/" + parent + "/" + name;
  if (!isName(name) || !isTrash(trash) || isTrash(name)) return failure(EINVAL, "renameat2", path);
  ParentDirectory directory;
  RemoveError error = openParent(root, parent, directory);
  if (error.number != 0) return error;
  const int fd = directory.fd.get();
  const int refused = checkEntry(fd, name);
  if (refused != 0) return failure(refused, "openat2", path);
  struct stat looked;
  struct stat moved;
  if (fstatat(fd, name.c_str(), &looked, AT_SYMLINK_NOFOLLOW) != 0) return failure(errno, "fstatat", path);
  // Opening with O_PATH can succeed on a link even where links are refused.
  if (S_ISLNK(looked.st_mode)) return failure(ELOOP, "openat2", path);
  error = renameIn(directory, name, trash);
  if (error.number != 0) return error;
  if (fstatat(fd, trash.c_str(), &moved, AT_SYMLINK_NOFOLLOW) != 0) return failure(errno, "fstatat", path);
  if (S_ISLNK(moved.st_mode) || moved.st_dev != looked.st_dev || moved.st_ino != looked.st_ino) {
    // Best effort: if its name was taken meanwhile, it stays in the trash.
    renameIn(directory, trash, name);
    return failure(ESTALE, "renameat2", path);
  }
  return sync(directory);
}

RemoveError restoreFromTrash(const std::string& root, const std::string& parent, const std::string& trash,
                             const std::string& name) {
  if (!isName(name) || !isTrash(trash)) return failure(EINVAL, "renameat2", root + "/" + parent + "/" + name);
  ParentDirectory directory;
  RemoveError error = openParent(root, parent, directory);
  if (error.number == 0) error = renameIn(directory, trash, name);
  return error.number == 0 ? sync(directory) : error;
}

RemoveError removeTrash(const std::string& root, const std::string& parent, const std::string& trash,
                        const std::atomic<bool>& cancelled, std::atomic<std::uint64_t>& removed) {
  if (!isTrash(trash)) return failure(EINVAL, "unlinkat", root + "/" + parent + "/" + trash);
  ParentDirectory directory;
  const RemoveError error = openParent(root, parent, directory);
  if (error.number != 0) return error.number == ENOENT ? RemoveError{} : error;
  RemoveError removal = Removal(directory.fd.get(), trash, cancelled, removed).run();
  if (removal.number != 0) removal.path = directory.path + "/" + removal.path;
  return removal;
}

}  // namespace workspace::disk
