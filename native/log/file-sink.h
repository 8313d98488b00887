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

  /**
   * Appends whole lines. What cannot be written is counted and left out: a full disk must not stop a program. Before the next
   * lines that can be written, a line of its own says how much is missing.
   */
  void write(std::string_view lines, std::int64_t timeMs);

  /** Bytes left out so far. */
  std::uint64_t lostBytes() const { return lost; }

 private:
  bool open();
  void rotate();
  void append(std::string_view bytes);
  /** Returns how many bytes were written. */
  std::size_t put(std::string_view bytes);
  void lose(std::size_t bytes);

  Options options;
  int fd = -1;
  std::uint64_t size = 0;
  std::uint64_t lost = 0;
  /** Bytes left out that no line of the file tells of yet. */
  std::uint64_t untold = 0;
  char lastByte = '\n';
  std::string stamped;
};

}  // namespace workspace::log
