#include "extent.h"

#include <algorithm>
#include <utility>

#include "inflate.h"

namespace workspace::archive {

namespace {

// APPNOTE 4.3.7; little-endian.
constexpr std::size_t headerBytes = 30;
constexpr std::uint8_t signature[] = {'P', 'K', 3, 4};
constexpr std::uint16_t stored = 0;
constexpr std::uint16_t deflated = 8;

std::uint64_t u2(const std::uint8_t* at) { return static_cast<std::uint64_t>(at[0] | at[1] << 8); }

}  // namespace

bool Source::read(std::uint64_t offset, std::span<std::uint8_t> out) const {
  if (offset > size() || out.size() > size() - offset) return false;
  if (file_ != nullptr) return file_->read(offset, out);
  const auto from = memory_.subspan(static_cast<std::size_t>(offset), out.size());
  std::copy(from.begin(), from.end(), out.begin());
  return true;
}

const char* ExtentReader::locate(const Extent& extent, std::uint64_t& offset) const {
  if (extent.bytes > maxBytes_) return "it exceeds the size limit";
  if (extent.storedBytes > source_.size()) return "it is larger than its archive";
  if (extent.method != stored && extent.method != deflated) return "its compression method is neither stored nor deflated";
  if (extent.method == stored && extent.bytes != extent.storedBytes) return "it is stored with two different sizes";
  offset = extent.offset;
  if (extent.hasHeader) {
    std::uint8_t header[headerBytes];
    if (!source_.read(offset, header)) return "its local header is beyond the end";
    if (!std::equal(std::begin(signature), std::end(signature), header)) return "it has no local header";
    // Sizes in the header are ignored: those of the central directory count.
    offset += headerBytes + u2(header + 26) + u2(header + 28);
  }
  return nullptr;
}

const char* ExtentReader::read(const Extent& extent, std::span<const std::uint8_t>& bytes) {
  std::uint64_t offset = 0;
  const char* fault = locate(extent, offset);
  if (fault != nullptr) return fault;
  stored_.resize(static_cast<std::size_t>(extent.storedBytes));
  if (!source_.read(offset, stored_)) return "its bytes could not all be read";
  bytes = stored_;
  if (extent.method == deflated) {
    inflated_.resize(static_cast<std::size_t>(extent.bytes));
    if (!inflateExactly(stored_, inflated_)) return "it does not inflate to its declared size";
    bytes = inflated_;
  }
  if (extent.hasCrc && crc32Of(bytes) != extent.crc) return "its checksum does not match";
  return nullptr;
}

const char* ExtentReader::take(const Extent& extent, Pages& bytes) {
  std::uint64_t offset = 0;
  const char* fault = locate(extent, offset);
  if (fault != nullptr) return fault;
  Pages from(static_cast<std::size_t>(extent.storedBytes));
  if (!source_.read(offset, from.span())) return "its bytes could not all be read";
  if (extent.method == deflated) {
    Pages inflated(static_cast<std::size_t>(extent.bytes));
    if (!inflateExactly(from.span(), inflated.span())) return "it does not inflate to its declared size";
    from = std::move(inflated);
  }
  if (extent.hasCrc && crc32Of(from.span()) != extent.crc) return "its checksum does not match";
  bytes = std::move(from);
  return nullptr;
}

}  // namespace workspace::archive
