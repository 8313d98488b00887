#include "directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <utility>
#include <vector>

namespace workspace::disk {

namespace {

int openDirectory(int from, const std::string& name, Directory::Open& opened) {
  const int fd = openat(from, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno;
  opened = std::make_shared<const Descriptor>(fd);
  return 0;
}

}  // namespace

Descriptor::~Descriptor() {
  if (fd_ >= 0) close(fd_);
}

Directory::Directory(OpenDirectories& open, std::shared_ptr<Directory> parent, std::string name)
    : open_(open), parent_(std::move(parent)), name_(std::move(name)) {}

Directory::~Directory() {
  Open closing;
  if (descriptor_ != nullptr) {
    const std::lock_guard lock(open_.mutex);
    closing = letGo();
  }
  // Ancestors are released one by one: shared_ptr alone would run as many nested destructors as a chain of 100,000
  // directories is deep, and overflow the stack.
  std::shared_ptr<Directory> ancestor = std::move(parent_);
  while (ancestor != nullptr && ancestor.use_count() == 1) {
    std::atomic_thread_fence(std::memory_order_acquire);
    ancestor = std::exchange(ancestor->parent_, nullptr);
  }
}

int Directory::openOnce(Open& opened) {
  if (parent_ == nullptr) return openDirectory(AT_FDCWD, name_, opened);
  const int number = openFromAncestor(opened);
  parent_->childOpened();
  return number;
}

/**
 * Opens every step from the nearest open ancestor, and keeps those steps open that have children waiting: in a tree
 * thousands of levels deep their children are opened next.
 */
int Directory::openFromAncestor(Open& opened) {
  std::vector<Directory*> steps{this};
  Open from;
  {
    const std::lock_guard lock(open_.mutex);
    Directory* at = parent_.get();
    while (at != nullptr && at->descriptor_ == nullptr) {
      steps.push_back(at);
      at = at->parent_.get();
    }
    if (at != nullptr) from = at->descriptor_;
  }
  for (;;) {
    Directory* const step = steps.back();
    Open next;
    const int number = openDirectory(from == nullptr ? AT_FDCWD : from->fd(), step->name_, next);
    if (number != 0) return number;
    steps.pop_back();
    if (steps.empty()) {
      opened = std::move(next);
      return 0;
    }
    from = next;
    Open closing;
    const std::lock_guard lock(open_.mutex);
    if (step->unopened_ > 1 && step->descriptor_ == nullptr) closing = step->hold(std::move(next));
  }
}

void Directory::keep(Open opened, std::size_t children) {
  if (children == 0) return;
  Open closing;
  const std::lock_guard lock(open_.mutex);
  unopened_ = children;
  closing = hold(std::move(opened));
}

void Directory::childOpened() {
  Open closing;
  const std::lock_guard lock(open_.mutex);
  if (--unopened_ == 0) closing = letGo();
}

Directory::Open Directory::hold(Open opened) {
  if (open_.limit_ == 0) return opened;
  descriptor_ = std::move(opened);
  place_ = open_.kept_.insert(open_.kept_.end(), this);
  return open_.kept_.size() > open_.limit_ ? open_.kept_.front()->letGo() : nullptr;
}

Directory::Open Directory::letGo() {
  if (descriptor_ == nullptr) return nullptr;
  open_.kept_.erase(place_);
  return std::exchange(descriptor_, nullptr);
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
