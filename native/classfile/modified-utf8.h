#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace workspace::classfile {

/**
 * Appends a CONSTANT_Utf8_info's modified UTF-8 (JVMS §4.4.7) as UTF-8: NUL as one byte, surrogate pairs as one
 * character of four bytes. An unpaired surrogate keeps its three bytes, which WTF-8 allows but UTF-8 does not.
 *
 * @return the offset of an invalid byte, or nothing
 */
std::optional<std::size_t> appendUtf8(std::span<const std::uint8_t> modified, std::vector<std::uint8_t>& utf8);

}  // namespace workspace::classfile
