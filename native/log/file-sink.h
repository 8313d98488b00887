#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace workspace::log {

/** A file that lines are appended to, and that makes way for a new one when it is full: FILE, FILE.1 … FILE.KEEP. */
class FileSink {
 public:
  struct Options {
    std::string path;
    std::uint64_t maxBytes;
    unsigned int keep;
    /** Whether each line begins with its time. */
    bool hasTimes;
  };

  explicit FileSink(Options options);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /** Appends whole lines. What cannot be written is counted and left out: a full disk must not stop a program. */
  void write(std::string_view lines, std::int64_t timeMs);

  /** Bytes left out so far. */
  std::uint64_t lostBytes() const { return lost; }

 private:
  bool open();
  void rotate();
  void append(std::string_view bytes);

  Options options;
  int fd = -1;
  std::uint64_t size = 0;
  std::uint64_t lost = 0;
  std::string stamped;
};

}  // namespace workspace::log
