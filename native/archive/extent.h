#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "file.h"
#include "pages.h"

namespace workspace::archive {

/** Location of data inside a file. */
struct Extent {
  /** Offset of its local header (zip), or of its data. */
  std::uint64_t offset = 0;
  /** Size as stored. */
  std::uint64_t storedBytes = 0;
  /** Size when inflated; the same if it is stored uncompressed. */
  std::uint64_t bytes = 0;
  /** Zip's compression method: 0 stored, 8 deflated. */
  std::uint16_t method = 0;
  /** Whether a zip local file header precedes the data. */
  bool hasHeader = false;
  bool hasCrc = false;
  std::uint32_t crc = 0;
};

/** Source of extents: a file, or an inflated archive inside one. */
class Source {
 public:
  explicit Source(const File& file) : file_(&file) {}
  explicit Source(std::span<const std::uint8_t> memory) : memory_(memory) {}

  std::uint64_t size() const { return file_ == nullptr ? memory_.size() : file_->size(); }
  bool read(std::uint64_t offset, std::span<std::uint8_t> out) const;

 private:
  const File* file_ = nullptr;
  std::span<const std::uint8_t> memory_;
};

/** Reads extents; buffers are reused. */
class ExtentReader {
 public:
  /** @param maxBytes limit of the inflated size, checked before memory is allocated */
  ExtentReader(const Source& source, std::uint64_t maxBytes) : source_(source), maxBytes_(maxBytes) {}

  /**
   * The bytes, valid until the next call.
   *
   * @return nullptr, or a sentence with the reason for failure
   */
  const char* read(const Extent& extent, std::span<const std::uint8_t>& bytes);

  /** Like `read`, for a caller that keeps the bytes, which may be many. */
  const char* take(const Extent& extent, Pages& bytes);

 private:
  /** Finds the start of the data; returns nullptr or the reason for failure. */
  const char* locate(const Extent& extent, std::uint64_t& offset) const;

  const Source source_;
  std::uint64_t maxBytes_;
  std::vector<std::uint8_t> stored_;
  std::vector<std::uint8_t> inflated_;
};

}  // namespace workspace::archive
