#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "judge.h"

namespace workspace::net_filter {

/** The length that QEMU's stream sockets put before each frame: 4 bytes, big endian. Source: QEMU's net/stream.c. */
constexpr std::size_t LENGTH_BYTES = 4;
/** QEMU's own bound for a frame (NET_BUFSIZE). */
constexpr std::size_t MOST_FRAME_BYTES = 4096 + 65536;

/** A guest's frames as a stream of bytes, of which only those remain that may pass. Holds at most one unfinished frame. */
class FrameStream {
 public:
  /** Room for the next bytes; never empty after `sift` and `clear`. */
  std::uint8_t* room() { return buffer_.data() + end_; }
  std::size_t roomBytes() const { return buffer_.size() - end_; }

  /**
   * Takes bytes that were put into the room, judges every frame that is whole and keeps those that may pass, in place. Returns false
   * when a length is not one of a frame: nothing that follows can be understood.
   */
  bool sift(std::size_t bytes, const Policy& policy, Places& places);

  /** What may be sent on: whole frames with their lengths. */
  const std::uint8_t* passed() const { return buffer_.data(); }
  std::size_t passedBytes() const { return passed_; }
  /** Forgets what has passed, and keeps the beginning of an unfinished frame. */
  void clear();
  std::uint64_t refused() const { return refused_; }

 private:
  std::vector<std::uint8_t> buffer_ = std::vector<std::uint8_t>(4 * MOST_FRAME_BYTES);
  /** Passed frames are before this. */
  std::size_t passed_ = 0;
  /** What has not been judged begins here, and ends at `end_`. */
  std::size_t next_ = 0;
  std::size_t end_ = 0;
  std::uint64_t refused_ = 0;
};

/** Reads the rules again whenever their file changes. */
class Rules {
 public:
  Rules(const char* file, Policy& policy) : file_(file), policy_(policy) {}
  /** Returns false, and changes nothing, when the file cannot be read or is not valid. */
  bool read();
  /** Reads the file if it has changed, at most once in `LOOK_EVERY`: may be called for every frame. */
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
 * Carries frames between a guest and its network until either closes: those of the guest are sifted, the others pass as they are.
 * Both are stream sockets, which it makes non-blocking. Returns a sentence that says how it ended.
 */
const char* relay(int guest, int network, Policy& policy, Rules& rules, Places& places, int changes);

}  // namespace workspace::net_filter
