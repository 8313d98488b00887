#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "file.h"
#include "pages.h"

namespace workspace::archive {

/** Where the bytes of something inside a file are. */
struct Extent {
  /** Of its local header (zip), or of its bytes. */
  std::uint64_t offset = 0;
  /** As they stand there. */
  std::uint64_t storedBytes = 0;
  /** Once inflated; the same where they are stored as they are. */
  std::uint64_t bytes = 0;
  /** Zip's compression method: 0 stored, 8 deflated. */
  std::uint16_t method = 0;
  /** Whether a zip local file header stands before the bytes. */
  bool hasHeader = false;
  bool hasCrc = false;
  std::uint32_t crc = 0;
};

/** Something to read extents from: a file, or an archive inside one that has been inflated. */
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

/** Reads extents; buffers are kept for the next. */
class ExtentReader {
 public:
  /** @param maxBytes an extent that would inflate to more is refused before anything is made room for */
  ExtentReader(const Source& source, std::uint64_t maxBytes) : source_(source), maxBytes_(maxBytes) {}

  /**
   * The bytes, valid until the next call.
   *
   * @return nullptr, or a sentence that says why there are none
   */
  const char* read(const Extent& extent, std::span<const std::uint8_t>& bytes);

  /** As `read`, for a caller that keeps the bytes, which may be many. */
  const char* take(const Extent& extent, Pages& bytes);

 private:
  /** Where the bytes begin; nullptr, or why they cannot be read. */
  const char* locate(const Extent& extent, std::uint64_t& offset) const;

  const Source source_;
  std::uint64_t maxBytes_;
  std::vector<std::uint8_t> stored_;
  std::vector<std::uint8_t> inflated_;
};

}  // namespace workspace::archive
