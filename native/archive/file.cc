#include "file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace workspace::archive {

File::File(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    failure_ = errno;
  } else if (!S_ISREG(status.st_mode)) {
    failure_ = S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  } else {
    size_ = static_cast<std::uint64_t>(status.st_size);
#ifdef __APPLE__
    const timespec& changed = status.st_mtimespec;
#else
    const timespec& changed = status.st_mtim;
#endif
    for (const auto each : {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino), size_,
                            static_cast<std::uint64_t>(changed.tv_sec), static_cast<std::uint64_t>(changed.tv_nsec)})
      identity_.append(std::to_string(each)).append(1, '-');
  }
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

bool File::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t count = pread(fd_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return true;
}

}  // namespace workspace::archive
