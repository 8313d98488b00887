#pragma once

#include <string>

namespace workspace::disk {

/** Owns a descriptor and closes it; a negative one is empty. */
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
 * Opens a directory below another by a relative path that contains no symlink and stays inside. If mounts are
 * refused, no part may be a mount point (openat2(2): RESOLVE_BENEATH, NO_SYMLINKS, NO_XDEV). Returns a descriptor, or
 * -errno: ELOOP or ENOTDIR for a symlink, EXDEV for a mount.
 */
int openDirectoryBeneath(int directoryFd, const std::string& path, Mounts mounts);

/** Checks an entry of any kind in the same way, refusing mounts; returns 0 or the errno. */
int checkEntry(int directoryFd, const std::string& name);

/** Whether a text is a single name: not empty, not `.` or `..`, without a slash. */
bool isName(const std::string& text);

}  // namespace workspace::disk
