#include "walk-trees.h"

#include <fcntl.h>

#include <cerrno>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "../schedule/idle-io.h"
#include "counted-again.h"
#include "directory-reader.h"
#include "directory.h"
#include "file-extents.h"
#include "link-set.h"
#include "on-threads.h"
#include "stat-entry.h"
#include "work-queue.h"

namespace workspace::disk {

namespace {

constexpr const char* openSyscall = "openat";
constexpr const char* readSyscall = "getdents64";

/** Whether the entry existed when its directory was read, but has vanished or is no longer a directory. */
bool hasVanished(int number) { return number == ENOENT || number == ENOTDIR || number == ELOOP; }

/** Whether resources are exhausted: continuing would report a tree smaller than it is. */
bool isExhaustion(int number) { return number == EMFILE || number == ENFILE || number == ENOMEM; }

/** A root and its totals. */
struct Tree {
  std::uint32_t index = 0;
  std::string root;
  /** Set by the thread that reads the root, before any other uses the tree. */
  EntryStat entry;
  std::mutex mutex;
  WalkedTree walked;
};

struct Item {
  Tree* tree = nullptr;
  /** Empty for a root that was not read yet. */
  std::shared_ptr<Directory> directory;
};

/** State of one thread. */
struct ThreadState {
  explicit ThreadState(const WalkOptions& options) : extents(options.memory, options.now, options.cancelled) {}

  DirectoryReader names;
  ExtentReader extents;
  std::uint64_t linkedBytes = 0;
  std::vector<Item> found;
};

class Walk {
 public:
  Walk(const std::vector<std::string>& roots, const WalkOptions& options)
      : options_(options), trees_(roots.size()), open_(options.openDirectories), queue_(itemsOf(roots)) {}

  /** Works until the queue is empty; runs in every thread. */
  void work() noexcept {
    try {
      ThreadState state(options_);
      Item item;
      while (queue_.take(item)) {
        if (item.directory == nullptr) readRoot(item, state);
        if (item.directory != nullptr) visit(item, state);
        item.directory.reset();
        queue_.finish(state.found);
      }
      const std::lock_guard lock(mutex_);
      linkedBytes_ += state.linkedBytes;
      askedFiles_ += state.extents.askedFiles();
      auto extents = state.extents.take();
      std::move(extents.begin(), extents.end(), std::back_inserter(extents_));
    } catch (const std::bad_alloc&) {
      fail(ENOMEM, "malloc", "");
    }
  }

  WalkError end(WalkReport& report) {
    for (Tree& tree : trees_) report.trees.push_back(std::move(tree.walked));
    report.askedFiles = askedFiles_;
    report.sharedBytes = linkedBytes_ + bytesCountedAgain(extents_);
    return std::move(error_);
  }

 private:
  std::vector<Item> itemsOf(const std::vector<std::string>& roots) {
    std::vector<Item> items;
    for (std::size_t i = roots.size(); i-- > 0;) {
      trees_[i].index = static_cast<std::uint32_t>(i);
      trees_[i].root = roots[i];
      items.push_back({&trees_[i], nullptr});
    }
    return items;
  }

  /** Sets the item's directory only if there are entries below it to read. */
  void readRoot(Item& item, ThreadState& state) {
    Tree& tree = *item.tree;
    if (isCancelled()) return fail(ECANCELED, statSyscall, tree.root);
    const int number = statEntry(AT_FDCWD, tree.root.c_str(), tree.entry);
    if (number != 0) {
      tree.walked.error = {number, statSyscall, tree.root};
      return;
    }
    count(tree, AT_FDCWD, tree.root.c_str(), tree.entry, tree.walked.totals, state);
    if (options_.seen != nullptr) options_.seen->fetch_add(1, std::memory_order_relaxed);
    if (tree.entry.isDirectory()) item.directory = std::make_shared<Directory>(open_, nullptr, tree.root);
  }

  void visit(const Item& item, ThreadState& state) {
    Tree& tree = *item.tree;
    Directory& directory = *item.directory;
    Directory::Open opened;
    WalkTotals totals;
    const int failure = directory.openOnce(opened);
    if (failure != 0) {
      if (isExhaustion(failure)) return fail(failure, openSyscall, directory.path());
      if (directory.isRoot()) {
        tree.walked.error = {failure, openSyscall, tree.root};
      } else if (!hasVanished(failure)) {
        unreadable(directory, totals);
        merge(tree, totals);
      }
      return;
    }
    bool allSeen = true;
    std::uint64_t seen = 0;
    state.names.start(opened->fd());
    while (const char* name = state.names.next()) {
      if (isCancelled()) {
        fail(ECANCELED, readSyscall, directory.path());
        break;
      }
      seen++;
      EntryStat entry;
      const int number = statEntry(opened->fd(), name, entry);
      if (number != 0) {
        if (!hasVanished(number)) allSeen = false;
        continue;
      }
      if (isElsewhere(tree, entry)) continue;
      count(tree, opened->fd(), name, entry, totals, state);
      if (entry.isDirectory())
        state.found.push_back({&tree, std::make_shared<Directory>(open_, item.directory, name)});
    }
    if (isExhaustion(state.names.failure())) fail(state.names.failure(), readSyscall, directory.path());
    if (state.names.failure() != 0 && !hasVanished(state.names.failure())) allSeen = false;
    if (!allSeen) unreadable(directory, totals);
    directory.keep(std::move(opened), state.found.size());
    merge(tree, totals);
    if (options_.seen != nullptr) options_.seen->fetch_add(seen, std::memory_order_relaxed);
  }

  void count(const Tree& tree, int directoryFd, const char* name, const EntryStat& entry, WalkTotals& totals,
             ThreadState& state) {
    if (entry.isDirectory()) {
      totals.directories++;
      totals.physicalBytes += entry.physicalBytes;
      return;
    }
    bool isNew = true;
    if (entry.links > 1) {
      const LinkSet::Met met = links_.add(entry.device, entry.inode, tree.index);
      if (met == LinkSet::Met::again) return;
      isNew = met == LinkSet::Met::first;
      if (!isNew) state.linkedBytes += entry.physicalBytes;
    }
    totals.files++;
    if (entry.isRegularFile() || entry.isSymlink()) totals.logicalBytes += entry.logicalBytes;
    totals.physicalBytes += entry.physicalBytes;
    if (isNew && entry.isRegularFile() && entry.physicalBytes > 0 && entry.physicalBytes >= options_.extentsFromBytes)
      state.extents.read(directoryFd, name, entry);
  }

  static void merge(Tree& tree, WalkTotals& totals) {
    const std::lock_guard lock(tree.mutex);
    WalkTotals& all = tree.walked.totals;
    all.files += totals.files;
    all.directories += totals.directories;
    all.logicalBytes += totals.logicalBytes;
    all.physicalBytes += totals.physicalBytes;
    all.unreadable += totals.unreadable;
    if (all.firstUnreadable.empty()) all.firstUnreadable = std::move(totals.firstUnreadable);
  }

  /**
   * Whether an entry belongs to another mount. Device numbers alone are not enough: a bind mount has its parent's,
   * and below one overlay mount files may have different numbers than directories
   * (https://docs.kernel.org/filesystems/overlayfs.html#inode-properties).
   */
  static bool isElsewhere(const Tree& tree, const EntryStat& entry) {
    if (tree.entry.mount != 0 && entry.mount != 0) return entry.mount != tree.entry.mount;
    return entry.isDirectory() && entry.device != tree.entry.device;
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
  std::vector<Tree> trees_;
  LinkSet links_;
  std::mutex mutex_;
  WalkError error_;
  std::vector<PlacedExtents> extents_;
  std::uint64_t linkedBytes_ = 0;
  std::uint64_t askedFiles_ = 0;
  OpenDirectories open_;
  // Last member, so that it is destroyed first: waiting directories are registered in `open_`.
  WorkQueue<Item> queue_;
};

}  // namespace

WalkError walkTrees(const std::vector<std::string>& roots, const WalkOptions& options, WalkReport& report) {
  if (options.memory != nullptr) options.memory->beginWalk();
  Walk walk(roots, options);
  onThreads(options.threads, [&walk] {
    const schedule::IdleIo idle;
    walk.work();
  });
  return walk.end(report);
}

}  // namespace workspace::disk
