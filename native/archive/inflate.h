#pragma once

#include <cstdint>
#include <span>

namespace workspace::archive {

/**
 * Inflates raw deflate data (RFC 1951) that is known to give exactly `out.size()` bytes; false when it gives others. By
 * libdeflate where the build found it (WORKSPACE_LIBDEFLATE), else by the zlib that Node carries, in about twice the time.
 */
bool inflateExactly(std::span<const std::uint8_t> deflated, std::span<std::uint8_t> out);

/** The CRC-32 of zip files. */
std::uint32_t crc32Of(std::span<const std::uint8_t> bytes);

}  // namespace workspace::archive
