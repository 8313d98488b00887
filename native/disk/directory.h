#pragma once

#include <memory>
#include <mutex>
#include <string>

namespace workspace::disk {

/** How many directories of a walk may stay open for the children that still wait; shared by all its threads. */
class OpenDirectories {
 public:
  explicit OpenDirectories(int limit) : left_(limit) {}

  std::mutex mutex;

  /** Both are called with `mutex` held. */
  bool take() { return left_ > 0 && left_-- > 0; }
  void giveBack() { left_++; }

 private:
  int left_;
};

/**
 * A directory of the tree, known by its parent and its name: a path may be longer than PATH_MAX and a symlink may take
 * the place of any of its parts, so every step is one openat from the directory before it.
 */
class Directory {
 public:
  Directory(OpenDirectories& open, std::shared_ptr<Directory> parent, std::string name);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /** Opens it; called once for each directory. Returns a descriptor for the caller to `keep` or close, or -errno. */
  int openOnce();

  /** Hands back the descriptor: it stays open while `children` directories below wait to be opened, if the limit lets it. */
  void keep(int fd, std::size_t children);

  /** For messages: the names joined with slashes. */
  std::string path() const;

  bool isRoot() const { return parent_ == nullptr; }

 private:
  int openFromAncestor() const;
  void childOpened();

  OpenDirectories& open_;
  std::shared_ptr<Directory> parent_;
  const std::string name_;
  std::size_t unopened_ = 0;
  int fd_ = -1;
};

}  // namespace workspace::disk
