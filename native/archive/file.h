#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace workspace::archive {

/** A file read by pread: truncating it causes an error, while a mapped file would kill the process. */
class File {
 public:
  /** Opens for reading; errors are in `failure`. */
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /** The errno of open, or 0. */
  int failure() const { return failure_; }
  /** Size when opened. */
  std::uint64_t size() const { return size_; }
  /** Identity that differs between files, and changes with a file's content. */
  std::string identity() const { return identity_; }

  /** Fills `out` from an offset; returns false at the end of the file or on an error. */
  bool read(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  int fd_;
  int failure_ = 0;
  std::uint64_t size_ = 0;
  std::string identity_;
};

}  // namespace workspace::archive
