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

/** What one thread has found. */
struct Desk {
  DirectoryReader names;
  FileList list;
  /** Directories below the one that is being read. */
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

  /** Works until nothing waits; every thread is in here. */
  void work() noexcept {
    try {
      Desk desk;
      std::string name;
      while (queue_.take(name)) {
        readDirectory(name, desk);
        queue_.finish(desk.below);
      }
      const std::lock_guard lock(mutex_);
      std::ranges::move(desk.list.files, std::back_inserter(list_.files));
      std::ranges::move(desk.list.problems, std::back_inserter(list_.problems));
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
  /** @param name from the root on; empty for the root */
  void readDirectory(const std::string& name, Desk& desk) {
    const Descriptor directory(openat(root_.fd(), name.empty() ? "." : name.c_str(), directoryFlags | O_NOFOLLOW));
    if (directory.fd() < 0) {
      desk.list.problems.push_back({errno, "open", name});
      return;
    }
    const std::string prefix = name.empty() ? "" : name + '/';
    desk.names.start(directory.fd());
    while (const char* entry = desk.names.next()) look(directory.fd(), prefix, entry, desk);
    if (desk.names.failure() != 0) desk.list.problems.push_back({desk.names.failure(), "getdents64", name});
  }

  void look(int fd, const std::string& prefix, const char* name, Desk& desk) const {
    EntryStat entry;
    const int number = statEntry(fd, name, entry);
    if (number != 0) {
      desk.list.problems.push_back({number, statSyscall, prefix + name});
    } else if (entry.isDirectory()) {
      if (!prefix.empty() || name != rule_.skipped) desk.below.push_back(prefix + name);
    } else if (entry.isRegularFile() && std::string_view(name).ends_with(rule_.ending)) {
      desk.list.files.push_back({prefix + name, entry.logicalBytes, entry.modifiedSeconds, entry.modifiedNanoseconds});
    }
  }

  const ListRule& rule_;
  const Descriptor root_;
  /** Names from the root on. */
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
