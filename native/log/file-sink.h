#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace workspace::log {

/** A file that lines are appended to, and that is rotated when it is full: FILE, FILE.1 … FILE.KEEP. */
class FileSink {
 public:
  struct Options {
    std::string path;
    std::uint64_t maxBytes;
    unsigned int keep;
    /** Whether each line starts with its time. */
    bool hasTimes;
  };

  explicit FileSink(Options options);
  ~FileSink();
  FileSink(const FileSink&) = delete;
  FileSink& operator=(const FileSink&) = delete;

  /**
   * Appends complete lines. Lines that cannot be written are counted and dropped: a full disk must not stop a
   * program. Before the next successful write, a separate line reports how many bytes are missing.
   */
  void write(std::string_view lines, std::int64_t timeMs);

  /** Returns the number of bytes dropped so far. */
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
  /** Dropped bytes that no line of the file reports yet. */
  std::uint64_t unreported = 0;
  char lastByte = '\n';
  std::string stamped;
};

}  // namespace workspace::log
