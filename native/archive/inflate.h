#pragma once

#include <cstdint>
#include <span>

namespace workspace::archive {

/**
 * Inflates raw deflate data (RFC 1951) to exactly `out.size()` bytes; returns false if its size differs. Uses
 * libdeflate if the build found it (WORKSPACE_LIBDEFLATE), else Node.js's zlib, which takes about twice the time.
 */
bool inflateExactly(std::span<const std::uint8_t> deflated, std::span<std::uint8_t> out);

/** The CRC-32 of zip files. */
std::uint32_t crc32Of(std::span<const std::uint8_t> bytes);

}  // namespace workspace::archive
