#pragma once

#include <cstddef>
#include <memory>

namespace workspace::disk {

/**
 * Reads the names in opened directories, one directory after the other, with one buffer for all.
 *
 * @example reader.start(fd); while (const char* name = reader.next()) …; if (reader.failure() != 0) …
 */
class DirectoryReader {
 public:
  DirectoryReader();
  ~DirectoryReader();
  DirectoryReader(const DirectoryReader&) = delete;
  DirectoryReader& operator=(const DirectoryReader&) = delete;

  /** Starts reading a directory. The caller owns the descriptor, which must stay open until the last `next`. */
  void start(int fd);

  /** Returns the next name except `.` and `..`, valid until the next call; nullptr at the end and after a failure. */
  const char* next();

  /** Returns the errno that stopped reading, or 0. */
  int failure() const { return failure_; }

 private:
  struct Source;
  std::unique_ptr<Source> source_;
  int failure_ = 0;
};

}  // namespace workspace::disk
