#pragma once

#include <array>
#include <cstddef>

namespace workspace::relay {

/** Copies bytes from one descriptor to another. */
class Direction {
 public:
  enum class Progress {
    waits,
    moved,
    /** The source or the destination failed. */
    broken,
  };

  Direction(int from, int to) : from_(from), to_(to) {}

  /** Reads and writes as much as possible without waiting. */
  Progress pump();

  bool wantsInput() const { return !isEnded_ && begin_ == end_; }
  bool wantsOutput() const { return begin_ != end_; }
  /** Whether everything has been forwarded, including the end. */
  bool isDone() const { return isPassedOn_; }

 private:
  Progress fill();
  Progress drain();

  int from_;
  int to_;
  bool isEnded_ = false;
  bool isPassedOn_ = false;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::array<char, 65536> buffer_;
};

}  // namespace workspace::relay
