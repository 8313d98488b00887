#include "directory-reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)
#include <sys/syscall.h>
#define WORKSPACE_GETDENTS 1
#endif

namespace workspace::disk {

namespace {

bool isDots(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

}  // namespace

#if WORKSPACE_GETDENTS

// glibc's readdir requests 32 KiB at a time; a larger buffer saves system calls in directories
// of thousands of files, and skipping DIR* saves an allocation and an fstat for each directory.
struct DirectoryReader::Source {
  static constexpr std::size_t capacity = 128 * 1024;

  alignas(dirent64) char buffer[capacity];
  int fd = -1;
  std::size_t length = 0;
  std::size_t at = 0;
};

void DirectoryReader::start(int fd) {
  source_->fd = fd;
  source_->length = 0;
  source_->at = 0;
  failure_ = 0;
}

const char* DirectoryReader::next() {
  for (;;) {
    if (source_->at >= source_->length) {
      const long read = syscall(SYS_getdents64, source_->fd, source_->buffer, Source::capacity);
      if (read <= 0) {
        if (read < 0) failure_ = errno;
        source_->length = source_->at = 0;
        return nullptr;
      }
      source_->length = static_cast<std::size_t>(read);
      source_->at = 0;
    }
    const auto* entry = reinterpret_cast<const dirent64*>(source_->buffer + source_->at);
    source_->at += entry->d_reclen;
    if (!isDots(entry->d_name)) return entry->d_name;
  }
}

DirectoryReader::DirectoryReader() : source_(std::make_unique<Source>()) {}
DirectoryReader::~DirectoryReader() = default;

#else

struct DirectoryReader::Source {
  DIR* stream = nullptr;

  void close() {
    if (stream != nullptr) closedir(stream);
    stream = nullptr;
  }
};

void DirectoryReader::start(int fd) {
  source_->close();
  failure_ = 0;
  // closedir closes its descriptor, but the caller's must stay open.
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  source_->stream = own < 0 ? nullptr : fdopendir(own);
  if (source_->stream != nullptr) return;
  failure_ = errno;
  if (own >= 0) close(own);
}

const char* DirectoryReader::next() {
  if (source_->stream == nullptr) return nullptr;
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(source_->stream);
    if (entry == nullptr) {
      failure_ = errno;
      source_->close();
      return nullptr;
    }
    if (!isDots(entry->d_name)) return entry->d_name;
  }
}

DirectoryReader::DirectoryReader() : source_(std::make_unique<Source>()) {}
DirectoryReader::~DirectoryReader() { source_->close(); }

#endif

}  // namespace workspace::disk
