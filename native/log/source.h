#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "block.h"
#include "file-sink.h"
#include "unfinished-line.h"

namespace workspace::log {

/** Longer lines are cut into pieces of at most this size. */
inline constexpr std::size_t MAX_LINE_BYTES = 16 * 1024;

struct Bounds {
  std::uint64_t lines;
  std::uint64_t bytes;
};

/** State of a source, available without reading its lines. */
struct Counts {
  /** Index of the oldest line in memory, and of the next line. */
  std::uint64_t first;
  std::uint64_t end;
  std::uint64_t heldBytes;
  std::uint64_t fileLostBytes;
  int openStreams;
};

/** A copy of blocks, oldest first, with their bytes concatenated. */
struct Excerpt {
  struct Part {
    std::uint64_t sequence;
    std::uint64_t index;
    std::int64_t timeMs;
    std::uint32_t lines;
    std::uint32_t size;
    std::uint8_t stream;
    bool isCut;
  };
  std::vector<Part> parts;
  std::string bytes;
};

/** Lines of one program: the newest in memory, all of them in its file if it has one. */
class Source {
 public:
  explicit Source(Bounds bounds) : bounds(bounds) {}

  /**
   * Takes bytes of a stream (0 or 1) as they arrive. `sequence` is the counter shared by all sources. Returns whether
   * the stream has a state to show.
   */
  bool take(int stream, std::string_view bytes, std::int64_t timeMs, std::atomic<std::uint64_t>& sequence) {
    return take(stream, carry[static_cast<std::size_t>(stream)], bytes, timeMs, sequence);
  }
  /** Takes the last states of lines that carriage returns rewrite as lines. */
  void showStates(std::int64_t timeMs, std::atomic<std::uint64_t>& sequence) {
    for (int stream = 0; stream < 2; stream++) {
      showState(stream, carry[static_cast<std::size_t>(stream)], timeMs, sequence);
    }
  }
  /** Ends a stream; an unfinished line becomes its last. */
  void finish(int stream, std::int64_t timeMs, std::atomic<std::uint64_t>& sequence) {
    finish(stream, carry[static_cast<std::size_t>(stream)], timeMs, sequence);
  }
  /** As above, for one of several writers of a stream. */
  bool take(int stream, UnfinishedLine& begun, std::string_view bytes, std::int64_t timeMs,
            std::atomic<std::uint64_t>& sequence);
  void showState(int stream, UnfinishedLine& begun, std::int64_t timeMs, std::atomic<std::uint64_t>& sequence);
  void finish(int stream, UnfinishedLine& begun, std::int64_t timeMs, std::atomic<std::uint64_t>& sequence);
  void opened() { openStreams++; }
  void closed() { openStreams--; }
  void writeTo(std::unique_ptr<FileSink> file);
  void setBounds(Bounds changed);

  Counts counts() const;
  /** Returns blocks with lines from an index on, as many as fit in `maxBytes` but at least one. */
  Excerpt read(std::uint64_t fromIndex, std::size_t maxBytes) const;

 private:
  void takePlain(int stream, std::string& begun, std::string_view bytes);
  void takeStates(int stream, UnfinishedLine& begun, std::string_view bytes);
  void takeLines(int stream, std::string_view lines);
  void keep(int stream, std::string_view first, std::string_view rest, std::uint32_t lines, bool isCut);
  void cutBegun(int stream, std::string& begun);
  void evict();
  std::uint64_t firstIndex() const;

  mutable std::mutex mutex;
  Bounds bounds;
  std::deque<Block> blocks;
  std::uint64_t nextIndex = 0;
  std::uint64_t heldBytes = 0;
  /** Unfinished line of each stream with one writer. */
  std::array<UnfinishedLine, 2> carry;
  std::unique_ptr<FileSink> file;
  std::atomic<int> openStreams = 0;
  // Time of the bytes being taken.
  std::int64_t now = 0;
  std::atomic<std::uint64_t>* sequence = nullptr;
};

}  // namespace workspace::log
