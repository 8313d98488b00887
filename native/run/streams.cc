#include "streams.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>

#include "control.h"

namespace workspace::run {

namespace {

constexpr int COMMON = O_CLOEXEC | O_NOCTTY;

/** The directory's descriptor, or the negative error number. */
int openDirectoryOf(std::string_view file) {
  const std::size_t slash = file.rfind('/');
  std::array<char, PATH_MAX> path = {};
  if (slash == std::string_view::npos || slash + 1 >= path.size()) return -EINVAL;
  std::copy_n(file.begin(), slash + 1, path.begin());
  const int fd = open(path.data(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

/**
 * A FIFO's descriptor, or the negative error number. Opened without waiting, so that a server that is gone holds nobody
 * up, and then made to wait, as every program expects of its streams.
 */
int openFifo(int directory, std::string_view id, std::string_view suffix, int access) {
  std::array<char, ID_LENGTH + 8> name = {};
  if (id.size() + suffix.size() >= name.size()) return -ENAMETOOLONG;
  std::copy(suffix.begin(), suffix.end(), std::copy(id.begin(), id.end(), name.begin()));
  const int fd = openat(directory, name.data(), access | O_NONBLOCK | O_NOFOLLOW | COMMON);
  if (fd < 0) return -errno;
  struct stat found = {};
  const int error = fstat(fd, &found) < 0 ? errno : !S_ISFIFO(found.st_mode) ? EINVAL : 0;
  if (error == 0 && fcntl(fd, F_SETFL, access) == 0) return fd;
  const int number = error == 0 ? errno : error;
  close(fd);
  return -number;
}

}  // namespace

int openStreams(const char* fileBeside, std::string_view id, bool hasInput, Streams& streams) {
  streams.fill(-1);
  const int directory = openDirectoryOf(fileBeside);
  if (directory < 0) return -directory;
  const int null = hasInput ? -1 : open("/dev/null", O_RDONLY | COMMON);
  const int nullError = errno;
  streams[0] = hasInput ? openFifo(directory, id, ".in", O_RDONLY) : null < 0 ? -nullError : null;
  streams[1] = openFifo(directory, id, ".out", O_WRONLY);
  streams[2] = openFifo(directory, id, ".err", O_WRONLY);
  close(directory);
  const auto failed = std::find_if(streams.begin(), streams.end(), [](int fd) { return fd < 0; });
  if (failed == streams.end()) return 0;
  const int error = -*failed;
  closeStreams(streams);
  return error;
}

void closeStreams(const Streams& streams) {
  for (const int fd : streams) {
    if (fd >= 0) close(fd);
  }
}

}  // namespace workspace::run
