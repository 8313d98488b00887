#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace workspace::disk {

class Directory;

/** An open directory, closed with the last that uses it; negative where opening it failed. */
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
 * The directories of a walk that stay open for the children that still wait; shared by all its threads. When there are too
 * many, the one that was kept longest is closed: depth first, it is needed last.
 */
class OpenDirectories {
 public:
  explicit OpenDirectories(std::size_t limit) : limit_(limit) {}

  std::mutex mutex;

 private:
  friend class Directory;

  const std::size_t limit_;
  /** Oldest first; with `mutex` held. */
  std::list<Directory*> kept_;
};

/**
 * A directory of the tree, known by its parent and its name: a path may be longer than PATH_MAX and a symlink may take
 * the place of any of its parts, so every step is one openat from the directory before it.
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

  /** Hands back what `openOnce` opened: it stays open while `children` directories below wait, as far as the limit lets it. */
  void keep(Open opened, std::size_t children);

  /** For messages: the names joined with slashes. */
  std::string path() const;

  bool isRoot() const { return parent_ == nullptr; }

 private:
  int openFromAncestor(Open& opened);
  void childOpened();
  /** Both with the mutex of `open_` held; what they return is closed without it. */
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
