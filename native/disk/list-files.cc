#include "list-files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <mutex>
#include <new>
#include <utility>

#include "directory-reader.h"
#include "directory.h"
#include "on-threads.h"
#include "stat-entry.h"
#include "work-queue.h"

namespace workspace::disk {

namespace {

constexpr int directoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/** Results of one thread. */
struct ThreadState {
  DirectoryReader names;
  FileList list;
  /** Directories below the current one. */
  std::vector<std::string> below;
};

class Lister {
 public:
  Lister(const std::string& root, const ListRule& rule)
      : rule_(rule), root_(open(root.c_str(), directoryFlags)), queue_({""}) {
    if (root_.fd() >= 0) return;
    list_.problems.push_back({errno, "open", ""});
    queue_.stop();
  }

  /** Works until the queue is empty; runs in every thread. */
  void work() noexcept {
    try {
      ThreadState state;
      std::string name;
      while (queue_.take(name)) {
        readDirectory(name, state);
        queue_.finish(state.below);
      }
      const std::lock_guard lock(mutex_);
      std::ranges::move(state.list.files, std::back_inserter(list_.files));
      std::ranges::move(state.list.problems, std::back_inserter(list_.problems));
    } catch (const std::bad_alloc&) {
      outOfMemory_ = true;
      queue_.stop();
    }
  }

  FileList end() {
    if (outOfMemory_) return {{}, {{ENOMEM, "malloc", ""}}};
    const std::size_t ending = rule_.ending.size();
    const auto stem = [ending](const ListedFile& file) {
      return std::string_view(file.name).substr(0, file.name.size() - ending);
    };
    std::ranges::sort(list_.files, {}, stem);
    std::ranges::sort(list_.problems, {}, &ListProblem::name);
    return std::move(list_);
  }

 private:
  /** @param name path relative to the root; empty for the root */
  void readDirectory(const std::string& name, ThreadState& state) {
    const Descriptor directory(openat(root_.fd(), name.empty() ? "." : name.c_str(), directoryFlags | O_NOFOLLOW));
    if (directory.fd() < 0) {
      state.list.problems.push_back({errno, "open", name});
      return;
    }
    const std::string prefix = name.empty() ? "" : name + '/';
    state.names.start(directory.fd());
    while (const char* entry = state.names.next()) addEntry(directory.fd(), prefix, entry, state);
    if (state.names.failure() != 0) state.list.problems.push_back({state.names.failure(), "getdents64", name});
  }

  void addEntry(int fd, const std::string& prefix, const char* name, ThreadState& state) const {
    EntryStat entry;
    const int number = statEntry(fd, name, entry);
    if (number != 0) {
      state.list.problems.push_back({number, statSyscall, prefix + name});
    } else if (entry.isDirectory()) {
      if (!prefix.empty() || name != rule_.skipped) state.below.push_back(prefix + name);
    } else if (entry.isRegularFile() && std::string_view(name).ends_with(rule_.ending)) {
      state.list.files.push_back({prefix + name, entry.logicalBytes, entry.modifiedSeconds, entry.modifiedNanoseconds});
    }
  }

  const ListRule& rule_;
  const Descriptor root_;
  /** Paths relative to the root. */
  WorkQueue<std::string> queue_;
  std::atomic<bool> outOfMemory_ = false;
  std::mutex mutex_;
  FileList list_;
};

}  // namespace

FileList listFiles(const std::string& root, const ListRule& rule) {
  Lister lister(root, rule);
  onThreads(0, [&lister] { lister.work(); });
  return lister.end();
}

}  // namespace workspace::disk
