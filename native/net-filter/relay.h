#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge.h"

namespace workspace::net_filter {

/** Length before each frame of QEMU's stream sockets: 4 bytes, big endian. Source: QEMU's net/stream.c. */
constexpr std::size_t LENGTH_BYTES = 4;
/** QEMU's limit for a frame (NET_BUFSIZE). */
constexpr std::size_t MOST_FRAME_BYTES = 4096 + 65536;

/** A guest's frames as a byte stream, filtered to those that may pass. Stores at most one unfinished frame. */
class FrameStream {
 public:
  /** Space for the next bytes; never empty after `sift` and `clear`. */
  std::uint8_t* room() { return buffer_.data() + end_; }
  std::size_t roomBytes() const { return buffer_.size() - end_; }

  /**
   * Filters the complete frames among newly written bytes, in place. Returns false for an invalid length, after which
   * the stream cannot be interpreted.
   */
  bool sift(std::size_t bytes, const Policy& policy, Locator& locator);

  /** Returns what may be forwarded: complete frames with their lengths. */
  const std::uint8_t* passed() const { return buffer_.data(); }
  std::size_t passedBytes() const { return passed_; }
  /** Removes the passed frames and keeps an unfinished one. */
  void clear();
  std::uint64_t refused() const { return refused_; }

 private:
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(4 * MOST_FRAME_BYTES);
  /** End of the passed frames. */
  std::size_t passed_ = 0;
  /** Start of the unfiltered bytes, which end at `end_`. */
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::uint64_t refused_ = 0;
};

/** Rules of a file, read again whenever it changes. */
class Rules {
 public:
  Rules(const char* file, Policy& policy) : file_(file), policy_(policy) {}
  /** Returns false, and changes nothing, if the file is unreadable or invalid. */
  bool read();
  /** Reads the file if it has changed, at most once per `LOOK_EVERY`; cheap enough to be called for every frame. */
  void refresh();
  static constexpr std::chrono::milliseconds LOOK_EVERY{500};

 private:
  const char* file_;
  Policy& policy_;
  std::uint64_t inode_ = 0;
  std::chrono::nanoseconds changed_{};
  std::chrono::steady_clock::time_point nextLook_{};
};

/**
 * Forwards frames between a guest and its network until either closes; only those of the guest are filtered. Both are
 * stream sockets, which become non-blocking. Returns a sentence with the reason for the end.
 */
const char* relay(int guest, int network, Policy& policy, Rules& rules, Locator& locator, int changes);

}  // namespace workspace::net_filter
