#pragma once

#include <string>

namespace workspace::disk {

/** A descriptor that is closed with this; below 0 it is none. */
class ScopedFd {
 public:
  explicit ScopedFd(int fd = -1) : fd_(fd) {}
  ~ScopedFd();
  ScopedFd(ScopedFd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  ScopedFd& operator=(ScopedFd&& other) noexcept;
  ScopedFd(const ScopedFd&) = delete;
  ScopedFd& operator=(const ScopedFd&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

enum class Mounts { refuse, enter };

/**
 * Opens a directory below another one by a relative path, of which no part may be a symlink or lead out of it; where mounts are
 * refused none may be a mount point either (openat2(2): RESOLVE_BENEATH, NO_SYMLINKS, NO_XDEV). Returns a descriptor, or -errno:
 * ELOOP or ENOTDIR for a symlink, EXDEV for a mount.
 */
int openDirectoryBeneath(int directoryFd, const std::string& path, Mounts mounts);

/** Looks at an entry of any kind the same way, mounts refused; returns 0 or the errno. */
int checkEntry(int directoryFd, const std::string& name);

/** Whether a text is one name: not empty, not `.` or `..`, without a slash. */
bool isName(const std::string& text);

}  // namespace workspace::disk
