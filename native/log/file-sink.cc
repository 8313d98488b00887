#include "file-sink.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <utility>

namespace workspace::log {

namespace {

/** `2026-11-21T13:45:07.042Z `. */
std::string stampOf(std::int64_t timeMs) {
  const std::time_t seconds = static_cast<std::time_t>(timeMs / 1000);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  std::array<char, 40> text;
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  const int more = std::snprintf(text.data() + length, text.size() - length, ".%03dZ ", static_cast<int>(timeMs % 1000));
  return std::string(text.data(), length + static_cast<std::size_t>(more));
}

}  // namespace

FileSink::FileSink(Options options) : options(std::move(options)) {}

FileSink::~FileSink() {
  if (fd >= 0) close(fd);
}

bool FileSink::open() {
  fd = ::open(options.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
  struct stat found = {};
  if (fd < 0 || fstat(fd, &found) < 0) return false;
  size = static_cast<std::uint64_t>(found.st_size);
  return true;
}

void FileSink::rotate() {
  close(fd);
  fd = -1;
  for (unsigned int i = options.keep; i > 0; i--) {
    const std::string from = i == 1 ? options.path : options.path + "." + std::to_string(i - 1);
    std::rename(from.c_str(), (options.path + "." + std::to_string(i)).c_str());
  }
  if (options.keep == 0) unlink(options.path.c_str());
}

void FileSink::write(std::string_view lines, std::int64_t timeMs) {
  if (!options.hasTimes) return append(lines);
  const std::string stamp = stampOf(timeMs);
  stamped.clear();
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size() - 1) + 1;
    stamped.append(stamp).append(lines.substr(0, end));
    lines.remove_prefix(end);
  }
  append(stamped);
}

void FileSink::append(std::string_view bytes) {
  if (fd >= 0 && size > 0 && size + bytes.size() > options.maxBytes) rotate();
  if (fd < 0 && !open()) return lose(bytes.size());
  if (unreported > 0) {
    const std::string gap = (lastByte == '\n' ? "[" : "\n[") + std::to_string(unreported) + " bytes of lines could not be written here]\n";
    if (put(gap) < gap.size()) return lose(bytes.size());
    unreported = 0;
  }
  lose(bytes.size() - put(bytes));
}

std::size_t FileSink::put(std::string_view bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(fd, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) break;
    done += static_cast<std::size_t>(written);
  }
  if (done > 0) lastByte = bytes[done - 1];
  size += done;
  return done;
}

void FileSink::lose(std::size_t bytes) {
  lost += bytes;
  unreported += bytes;
}

}  // namespace workspace::log
