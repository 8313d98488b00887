#include "modified-utf8.h"

namespace workspace::classfile {

namespace {

bool isContinuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

/** Returns the UTF-16 code unit at `at`, and advances past it; -1 without one. */
int readUnit(std::span<const std::uint8_t> bytes, std::size_t& at) {
  const std::uint8_t first = bytes[at];
  const std::size_t left = bytes.size() - at;
  if (first < 0x80) {
    at += 1;
    return first;
  }
  if ((first & 0xE0) == 0xC0 && left >= 2 && isContinuation(bytes[at + 1])) {
    at += 2;
    return (first & 0x1F) << 6 | (bytes[at - 1] & 0x3F);
  }
  if ((first & 0xF0) == 0xE0 && left >= 3 && isContinuation(bytes[at + 1]) && isContinuation(bytes[at + 2])) {
    at += 3;
    return (first & 0x0F) << 12 | (bytes[at - 2] & 0x3F) << 6 | (bytes[at - 1] & 0x3F);
  }
  return -1;
}

void append(std::uint32_t character, std::vector<std::uint8_t>& out) {
  const auto byte = [&out](std::uint32_t value) { out.push_back(static_cast<std::uint8_t>(value)); };
  if (character < 0x80) {
    byte(character);
  } else if (character < 0x800) {
    byte(0xC0 | character >> 6);
    byte(0x80 | (character & 0x3F));
  } else if (character < 0x10000) {
    byte(0xE0 | character >> 12);
    byte(0x80 | (character >> 6 & 0x3F));
    byte(0x80 | (character & 0x3F));
  } else {
    byte(0xF0 | character >> 18);
    byte(0x80 | (character >> 12 & 0x3F));
    byte(0x80 | (character >> 6 & 0x3F));
    byte(0x80 | (character & 0x3F));
  }
}

}  // namespace

std::optional<std::size_t> appendUtf8(std::span<const std::uint8_t> modified, std::vector<std::uint8_t>& utf8) {
  for (std::size_t at = 0; at < modified.size();) {
    const std::size_t start = at;
    const int unit = readUnit(modified, at);
    if (unit < 0) return start;
    auto character = static_cast<std::uint32_t>(unit);
    if (unit >= 0xD800 && unit < 0xDC00 && at < modified.size()) {
      std::size_t next = at;
      const int low = readUnit(modified, next);
      if (low >= 0xDC00 && low < 0xE000) {
        character = 0x10000 + ((character - 0xD800) << 10) + (static_cast<std::uint32_t>(low) - 0xDC00);
        at = next;
      }
    }
    append(character, utf8);
  }
  return std::nullopt;
}

}  // namespace workspace::classfile
