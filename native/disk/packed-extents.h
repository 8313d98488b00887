#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace workspace::disk {

/** A range of a device, in bytes. */
struct Extent {
  std::uint64_t start;
  std::uint64_t bytes;
  bool operator==(const Extent&) const = default;
};

/** Ranges of one device in the order of their starts, in about 5 bytes each instead of 16. They may overlap. */
class PackedExtents {
 public:
  /** Devices are divided into sectors; other positions are rounded. */
  static constexpr unsigned sectorShift = 9;

  /** Sorts `extents` and joins adjacent ones. Leaves out what is empty or ends beyond 2^63 bytes. */
  explicit PackedExtents(std::vector<Extent>& extents);

  /** Restores what `bytes()` of another object returned; null if it is not of that form. */
  static std::shared_ptr<const PackedExtents> restore(std::vector<std::uint8_t> bytes);

  /** Alternates distance from the start of the previous range and length, in sectors, 7 bits per byte (LEB128). */
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  /** Sum of the lengths. */
  std::uint64_t sectors() const { return sectors_; }

  /** Bits that are set in any start or length in sectors; 0 if there are no ranges. */
  std::uint64_t usedBits() const { return usedBits_; }

 private:
  PackedExtents() = default;
  void append(std::uint64_t number);

  std::vector<std::uint8_t> bytes_;
  std::uint64_t sectors_ = 0;
  std::uint64_t usedBits_ = 0;
};

/** Reads packed extents one after the other. */
class ExtentCursor {
 public:
  explicit ExtentCursor(const PackedExtents& extents)
      : at_(extents.bytes().data()), end_(at_ + extents.bytes().size()) {}

  /** Moves to the next range, which `start` and `sectors` describe. */
  bool next() {
    std::uint64_t distance = 0;
    if (!read(distance) || !read(sectors)) return false;
    start = previous_ += distance;
    return true;
  }

  /** Whether all bytes were read; false if the last range is cut off. */
  bool isAtEnd() const { return at_ == end_; }

  /** In sectors. */
  std::uint64_t start = 0;
  std::uint64_t sectors = 0;

 private:
  bool read(std::uint64_t& number) {
    number = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 64; shift += 7) {
      const std::uint8_t byte = *at_++;
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  const std::uint8_t* at_;
  const std::uint8_t* end_;
  std::uint64_t previous_ = 0;
};

}  // namespace workspace::disk
