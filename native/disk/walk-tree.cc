#include "walk-tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "directory-reader.h"
#include "directory.h"
#include "link-set.h"
#include "stat-entry.h"
#include "work-queue.h"

namespace workspace::disk {

namespace {

using Item = std::shared_ptr<Directory>;

constexpr const char* openSyscall = "openat";
constexpr const char* readSyscall = "getdents64";

/** The entry was there when its directory was read, and is gone or is no directory any more. */
bool hasVanished(int number) { return number == ENOENT || number == ENOTDIR || number == ELOOP; }

/** Not the entry's fault: going on would report a tree smaller than it is. */
bool isExhaustion(int number) { return number == EMFILE || number == ENFILE || number == ENOMEM; }

class Walk {
 public:
  Walk(const std::string& root, const EntryStat& rootEntry, const WalkOptions& options)
      : options_(options),
        rootEntry_(rootEntry),
        open_(options.openDirectories),
        queue_(std::make_shared<Directory>(open_, nullptr, root)) {}

  /** Works until no directory waits; every thread of the walk is in here. */
  void work() noexcept {
    try {
      WalkTotals totals;
      DirectoryReader reader;
      std::vector<Item> found;
      Item directory;
      while (queue_.take(directory)) {
        visit(*directory, directory, reader, totals, found);
        directory.reset();
        queue_.finish(found);
      }
      merge(totals);
    } catch (const std::bad_alloc&) {
      fail(ENOMEM, "malloc", "");
    }
  }

  void count(const EntryStat& entry, WalkTotals& totals) {
    if (entry.isDirectory()) {
      totals.directories++;
    } else {
      if (entry.links > 1 && !links_.add(entry.device, entry.inode)) return;
      totals.files++;
      if (entry.isRegularFile() || entry.isSymlink()) totals.logicalBytes += entry.logicalBytes;
    }
    totals.physicalBytes += entry.physicalBytes;
  }

  WalkError end(WalkTotals& totals) {
    totals = std::move(totals_);
    return std::move(error_);
  }

  void merge(WalkTotals& totals) {
    const std::lock_guard lock(mutex_);
    totals_.files += totals.files;
    totals_.directories += totals.directories;
    totals_.logicalBytes += totals.logicalBytes;
    totals_.physicalBytes += totals.physicalBytes;
    totals_.unreadable += totals.unreadable;
    if (totals_.firstUnreadable.empty()) totals_.firstUnreadable = std::move(totals.firstUnreadable);
  }

 private:
  void visit(Directory& directory, const Item& self, DirectoryReader& reader, WalkTotals& totals,
             std::vector<Item>& found) {
    const int fd = directory.openOnce();
    if (fd < 0) {
      if (directory.isRoot() || isExhaustion(-fd)) {
        fail(-fd, openSyscall, directory.path());
      } else if (!hasVanished(-fd)) {
        unreadable(directory, totals);
      }
      return;
    }
    bool allSeen = true;
    reader.start(fd);
    while (const char* name = reader.next()) {
      if (isCancelled()) {
        fail(ECANCELED, readSyscall, directory.path());
        break;
      }
      EntryStat entry;
      const int number = statEntry(fd, name, entry);
      if (number != 0) {
        if (!hasVanished(number)) allSeen = false;
        continue;
      }
      if (isElsewhere(entry)) continue;
      count(entry, totals);
      if (entry.isDirectory()) found.push_back(std::make_shared<Directory>(open_, self, name));
    }
    if (isExhaustion(reader.failure())) fail(reader.failure(), readSyscall, directory.path());
    if (reader.failure() != 0 && !hasVanished(reader.failure())) allSeen = false;
    if (!allSeen) unreadable(directory, totals);
    directory.keep(fd, found.size());
  }

  /**
   * Whether an entry belongs to another mount. Device numbers alone would not do: a bind mount has its parent's, and
   * below one overlay mount files may carry other numbers than directories
   * (https://docs.kernel.org/filesystems/overlayfs.html#inode-properties).
   */
  bool isElsewhere(const EntryStat& entry) const {
    if (rootEntry_.mount != 0 && entry.mount != 0) return entry.mount != rootEntry_.mount;
    return entry.isDirectory() && entry.device != rootEntry_.device;
  }

  bool isCancelled() const {
    return options_.cancelled != nullptr && options_.cancelled->load(std::memory_order_relaxed);
  }

  static void unreadable(const Directory& directory, WalkTotals& totals) {
    totals.unreadable++;
    if (totals.firstUnreadable.empty()) totals.firstUnreadable = directory.path();
  }

  void fail(int number, const char* syscall, std::string path) {
    {
      const std::lock_guard lock(mutex_);
      if (error_.number == 0) error_ = WalkError{number, syscall, std::move(path)};
    }
    queue_.stop();
  }

  const WalkOptions options_;
  const EntryStat rootEntry_;
  LinkSet links_;
  std::mutex mutex_;
  WalkTotals totals_;
  WalkError error_;
  OpenDirectories open_;
  // Last, so that it goes first: the directories that still wait give their descriptors back to `open_`.
  WorkQueue<Item> queue_;
};

unsigned threadsFor(const WalkOptions& options) {
  if (options.threads > 0) return options.threads;
  // Beyond four the directory-entry cache's locks eat the gain.
  return std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
}

}  // namespace

WalkError walkTree(const std::string& root, const WalkOptions& options, WalkTotals& totals) {
  EntryStat entry;
  const int number = statEntry(AT_FDCWD, root.c_str(), entry);
  if (number != 0) return WalkError{number, statSyscall, root};

  Walk walk(root, entry, options);
  WalkTotals own;
  walk.count(entry, own);
  walk.merge(own);
  if (!entry.isDirectory()) return walk.end(totals);

  std::vector<std::thread> helpers;
  try {
    for (unsigned i = 1; i < threadsFor(options); i++) helpers.emplace_back([&walk] { walk.work(); });
  } catch (const std::system_error&) {
    // The machine gives no more threads; those there are do the work.
  }
  walk.work();
  for (std::thread& helper : helpers) helper.join();
  return walk.end(totals);
}

}  // namespace workspace::disk
