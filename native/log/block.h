#pragma once

#include <cstdint>
#include <memory>

namespace workspace::log {

/** Lines of one stream that came together: each ends with a newline, but for a block that is one cut line. */
struct Block {
  /** Of the first line, counted over all sources: the order in which lines came. */
  std::uint64_t sequence;
  /** Of the first line, counted within the source. */
  std::uint64_t index;
  std::int64_t timeMs;
  std::uint32_t lines;
  std::uint32_t size;
  std::uint8_t stream;
  /** A piece of a line that was too long; the next line of the stream goes on with it. */
  bool isCut;
  std::unique_ptr<char[]> bytes;
};

}  // namespace workspace::log
