#include "directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

namespace workspace::disk {

namespace {

int openDirectory(int from, const std::string& name) {
  const int fd = openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

}  // namespace

Directory::Directory(OpenDirectories& open, std::shared_ptr<Directory> parent, std::string name)
    : open_(open), parent_(std::move(parent)), name_(std::move(name)) {}

Directory::~Directory() {
  if (fd_ >= 0) {
    const std::lock_guard lock(open_.mutex);
    close(fd_);
    open_.giveBack();
  }
  // Ancestors are let go one by one: left to shared_ptr, a chain of 100,000 directories would end in as many nested
  // destructors and overflow the stack.
  std::shared_ptr<Directory> ancestor = std::move(parent_);
  while (ancestor != nullptr && ancestor.use_count() == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);
    ancestor = std::exchange(ancestor->parent_, nullptr);
  }
}

int Directory::openOnce() {
  if (parent_ == nullptr) return openDirectory(AT_FDCWD, name_);
  // Without the lock: a parent closes its descriptor only after the last of its children was here.
  const int fd = parent_->fd_ >= 0 ? openDirectory(parent_->fd_, name_) : openFromAncestor();
  parent_->childOpened();
  return fd;
}

int Directory::openFromAncestor() const {
  std::vector<const Directory*> steps{this};
  int from = AT_FDCWD;
  {
    // Other threads may close an ancestor's descriptor, so the one found is duplicated under the lock.
    const std::lock_guard lock(open_.mutex);
    const Directory* at = parent_.get();
    while (at != nullptr && at->fd_ < 0) {
      steps.push_back(at);
      at = at->parent_.get();
    }
    if (at != nullptr) {
      from = fcntl(at->fd_, F_DUPFD_CLOEXEC, 0);
      if (from < 0) return -errno;
    }
  }
  while (!steps.empty()) {
    const int next = openDirectory(from, steps.back()->name_);
    if (from != AT_FDCWD) close(from);
    if (next < 0) return next;
    from = next;
    steps.pop_back();
  }
  return from;
}

void Directory::keep(int fd, std::size_t children) {
  const std::lock_guard lock(open_.mutex);
  unopened_ = children;
  if (children > 0 && open_.take()) {
    fd_ = fd;
  } else {
    close(fd);
  }
}

void Directory::childOpened() {
  const std::lock_guard lock(open_.mutex);
  if (--unopened_ > 0 || fd_ < 0) return;
  close(fd_);
  fd_ = -1;
  open_.giveBack();
}

std::string Directory::path() const {
  std::vector<const Directory*> steps;
  for (const Directory* at = this; at != nullptr; at = at->parent_.get()) steps.push_back(at);
  std::string path = steps.back()->name_;
  for (std::size_t i = steps.size() - 1; i-- > 0;) {
    if (path.back() != '/') path += '/';
    path += steps[i]->name_;
  }
  return path;
}

}  // namespace workspace::disk
