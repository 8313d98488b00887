#pragma once

#include <cstdint>
#include <memory>

namespace workspace::log {

/** Lines of one stream that arrived together, each ending with a newline; or a single piece of a cut line. */
struct Block {
  /** Number of the first line, counted over all sources in order of arrival. */
  std::uint64_t sequence;
  /** Number of the first line, counted within the source. */
  std::uint64_t index;
  std::int64_t timeMs;
  std::uint32_t lines;
  std::uint32_t size;
  std::uint8_t stream;
  /** Piece of a line that was too long; the stream's next line continues it. */
  bool isCut;
  std::unique_ptr<char[]> bytes;
};

}  // namespace workspace::log
