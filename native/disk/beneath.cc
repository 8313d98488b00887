#include "beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <utility>

// WORKSPACE_PORTABLE lets Linux build and test the code for other systems.
#if defined(__linux__) && !defined(WORKSPACE_PORTABLE) && __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#include <sys/syscall.h>
#define WORKSPACE_OPENAT2 1
#endif

namespace workspace::disk {

namespace {

constexpr int directoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

/**
 * Opens a path step by step on systems without openat2. It recognizes mounts by their device, so it misses bind
 * mounts.
 */
int openStepwise(int from, const std::string& path, Mounts mounts) {
  struct stat before;
  if (fstat(from, &before) != 0) return -errno;
  ScopedFd at;
  std::size_t begin = 0;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string step = path.substr(begin, end - begin);
    begin = end + 1;
    if (step == "." || step.empty()) {
      if (path == ".") return openat(from, ".", directoryFlags);
      continue;
    }
    if (!isName(step)) return -EXDEV;
    const int next = openat(at.get() < 0 ? from : at.get(), step.c_str(), directoryFlags);
    if (next < 0) return -errno;
    at = ScopedFd(next);
    struct stat now;
    if (fstat(next, &now) != 0) return -errno;
    if (mounts == Mounts::refuse && now.st_dev != before.st_dev) return -EXDEV;
  }
  return at.get() < 0 ? -ENOENT : fcntl(at.get(), F_DUPFD_CLOEXEC, 0);
}

#if WORKSPACE_OPENAT2

/** Since Linux 5.6; a container's seccomp filter may refuse it. */
std::atomic<bool> hasOpenat2{true};

int openBeneath(int from, const std::string& path, std::uint64_t flags, Mounts mounts) {
  open_how how{};
  how.flags = flags;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::refuse) how.resolve |= RESOLVE_NO_XDEV;
  for (int tries = 0;; tries++) {
    const long fd = syscall(SYS_openat2, from, path.c_str(), &how, sizeof how);
    if (fd >= 0) return static_cast<int>(fd);
    // The tree changed meanwhile, and the kernel cannot decide whether the path stayed inside.
    if (errno != EAGAIN || tries == 100) return -errno;
  }
}

bool isUnknownCall(int number) { return number == -ENOSYS || number == -EPERM; }

#endif

}  // namespace

ScopedFd::~ScopedFd() {
  if (fd_ >= 0) close(fd_);
}

ScopedFd& ScopedFd::operator=(ScopedFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

bool isName(const std::string& text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string::npos;
}

int openDirectoryBeneath(int directoryFd, const std::string& path, Mounts mounts) {
#if WORKSPACE_OPENAT2
  if (hasOpenat2.load(std::memory_order_relaxed)) {
    const int fd = openBeneath(directoryFd, path, directoryFlags, mounts);
    if (!isUnknownCall(fd)) return fd;
    const int stepwise = openStepwise(directoryFd, path, mounts);
    // Otherwise the entry itself cannot be opened.
    if (stepwise >= 0) hasOpenat2.store(false, std::memory_order_relaxed);
    return stepwise;
  }
#endif
  return openStepwise(directoryFd, path, mounts);
}

int checkEntry(int directoryFd, const std::string& name) {
  if (!isName(name)) return EINVAL;
#if WORKSPACE_OPENAT2
  if (hasOpenat2.load(std::memory_order_relaxed)) {
    const int fd = openBeneath(directoryFd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC, Mounts::refuse);
    if (fd >= 0) close(fd);
    if (!isUnknownCall(fd)) return fd < 0 ? -fd : 0;
  }
#endif
  struct stat parent;
  struct stat entry;
  if (fstat(directoryFd, &parent) != 0) return errno;
  if (fstatat(directoryFd, name.c_str(), &entry, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  if (S_ISLNK(entry.st_mode)) return ELOOP;
  return entry.st_dev == parent.st_dev ? 0 : EXDEV;
}

}  // namespace workspace::disk
