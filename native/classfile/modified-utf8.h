#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace workspace::classfile {

/**
 * Appends a CONSTANT_Utf8_info's modified UTF-8 (JVMS §4.4.7) as UTF-8: NUL as one byte, surrogate pairs as one character
 * of four bytes. A surrogate without its other half stays as its three bytes, which UTF-8 proper has not (WTF-8 has).
 *
 * @return where a byte stands that cannot, or nothing
 */
std::optional<std::size_t> appendUtf8(std::span<const std::uint8_t> modified, std::vector<std::uint8_t>& utf8);

}  // namespace workspace::classfile
