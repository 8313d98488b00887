#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace workspace::disk {

class Directory;

/** An open directory, closed with its last user; negative if opening it failed. */
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int fd() const { return fd_; }

 private:
  const int fd_;
};

/**
 * Directories of a walk that stay open for waiting children; shared by all threads. Beyond the limit, the one that
 * was kept longest is closed: in a depth-first walk it is needed last.
 */
class OpenDirectories {
 public:
  explicit OpenDirectories(std::size_t limit) : limit_(limit) {}

  std::mutex mutex;

 private:
  friend class Directory;

  const std::size_t limit_;
  /** Oldest first; guarded by `mutex`. */
  std::list<Directory*> kept_;
};

/**
 * A directory of the tree, identified by its parent and its name: a path may be longer than PATH_MAX, and a symlink
 * may replace any of its parents, so every step is an openat relative to the previous directory.
 */
class Directory {
 public:
  using Open = std::shared_ptr<const Descriptor>;

  Directory(OpenDirectories& open, std::shared_ptr<Directory> parent, std::string name);
  ~Directory();
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  /** Opens it; called once for each directory. Returns 0 or the errno. */
  int openOnce(Open& opened);

  /**
   * Returns a directory that `openOnce` opened: it stays open while `children` directories below wait, up to the
   * limit.
   */
  void keep(Open opened, std::size_t children);

  /** Returns the path for messages: the names joined by slashes. */
  std::string path() const;

  bool isRoot() const { return parent_ == nullptr; }

 private:
  int openFromAncestor(Open& opened);
  void childOpened();
  /** Both require the mutex of `open_`; the caller closes what they return after unlocking it. */
  Open hold(Open opened);
  Open letGo();

  OpenDirectories& open_;
  std::shared_ptr<Directory> parent_;
  const std::string name_;
  std::size_t unopened_ = 0;
  Open descriptor_;
  std::list<Directory*>::iterator place_;
};

}  // namespace workspace::disk
