#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "class-format-error.h"

namespace workspace::classfile {

/**
 * Reads big-endian u1, u2 and u4 of JVMS §4 from a window of a class file. All reads of this library go through it; a
 * read beyond the window throws a ClassFormatError.
 */
class Cursor {
 public:
  explicit Cursor(std::span<const std::uint8_t> bytes) : bytes_(bytes.data()), at_(0), end_(bytes.size()) {}

  /** Byte offset in the class file, independent of the window. */
  std::size_t offset() const { return at_; }
  std::size_t end() const { return end_; }
  std::size_t remaining() const { return end_ - at_; }
  bool atEnd() const { return at_ == end_; }

  std::uint8_t u1() {
    require(1);
    return bytes_[at_++];
  }

  std::uint16_t u2() {
    require(2);
    const auto value = static_cast<std::uint16_t>(bytes_[at_] << 8 | bytes_[at_ + 1]);
    at_ += 2;
    return value;
  }

  std::uint32_t u4() {
    require(4);
    const std::uint32_t value = static_cast<std::uint32_t>(bytes_[at_]) << 24 | static_cast<std::uint32_t>(bytes_[at_ + 1]) << 16 |
                                static_cast<std::uint32_t>(bytes_[at_ + 2]) << 8 | bytes_[at_ + 3];
    at_ += 4;
    return value;
  }

  std::int16_t s2() { return static_cast<std::int16_t>(u2()); }
  std::int32_t s4() { return static_cast<std::int32_t>(u4()); }

  void skip(std::size_t count) {
    require(count);
    at_ += count;
  }

  /** Returns the next bytes and advances past them. */
  std::span<const std::uint8_t> bytes(std::size_t count) {
    require(count);
    const std::span<const std::uint8_t> taken(bytes_ + at_, count);
    at_ += count;
    return taken;
  }

  /** Returns a window on the next bytes and advances past them. */
  Cursor window(std::size_t count) {
    Cursor inner = *this;
    skip(count);
    inner.end_ = at_;
    return inner;
  }

  /** Returns this window at another offset. */
  Cursor from(std::size_t offset) const {
    if (offset > end_) throw ClassFormatError(at_, "offset " + std::to_string(offset) + " is beyond the end at " + std::to_string(end_));
    Cursor moved = *this;
    moved.at_ = offset;
    return moved;
  }

  /**
   * Checks that the window can hold `count` structures of at least `each` bytes, before memory is allocated for them.
   */
  void requireEach(std::size_t count, std::size_t each) const { require(count * each); }

  /** Checks that nothing follows, as a JVM does for most attributes. */
  void requireEnd() const {
    if (!atEnd()) throw ClassFormatError(at_, std::to_string(remaining()) + " bytes follow the contents of an attribute");
  }

 private:
  void require(std::size_t count) const {
    if (count > end_ - at_) fail(count);
  }

  [[noreturn, gnu::noinline, gnu::cold]] void fail(std::size_t count) const {
    throw ClassFormatError(at_, "expected " + std::to_string(count) + " more bytes, only " + std::to_string(end_ - at_) + " are left");
  }

  const std::uint8_t* bytes_;
  std::size_t at_;
  std::size_t end_;
};

}  // namespace workspace::classfile
