#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace workspace::archive {

/** A file that is read by pread: one that shrinks meanwhile gives an error, where a mapped one would end the process. */
class File {
 public:
  /** Opens for reading; what may have gone wrong is in `failure`. */
  explicit File(const std::string& path);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /** The errno of open, or 0. */
  int failure() const { return failure_; }
  /** As it was when opened. */
  std::uint64_t size() const { return size_; }
  /** Differs between files, and for one file when its content was changed. */
  std::string identity() const { return identity_; }

  /** Fills `out` from an offset on; false when the file ends before, or on an error. */
  bool read(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  int fd_;
  int failure_ = 0;
  std::uint64_t size_ = 0;
  std::string identity_;
};

}  // namespace workspace::archive
