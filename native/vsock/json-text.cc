#include "json-text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace workspace::vsock {

namespace {

constexpr std::uint64_t ones = 0x0101010101010101;
constexpr std::uint64_t highs = 0x8080808080808080;

std::uint64_t wordAt(const char* text) {
  std::uint64_t word;
  std::memcpy(&word, text, sizeof word);
  return word;
}

/** Sets high bits where a byte is zero, and possibly above. */
std::uint64_t zeros(std::uint64_t word) { return (word - ones) & ~word & highs; }

/** Whether eight characters are ASCII and need no escape in JSON. */
bool isPlain(std::uint64_t word) {
  const std::uint64_t controls = (word - ones * 0x20) & ~word & highs;
  return (controls | zeros(word ^ ones * '"') | zeros(word ^ ones * '\\') | (word & highs)) == 0;
}

/** Returns the first position from `at` on that is not within eight plain characters, or is among the last seven. */
std::size_t passPlain(std::string_view text, std::size_t at) {
  while (at + 16 <= text.size() && isPlain(wordAt(text.data() + at)) && isPlain(wordAt(text.data() + at + 8))) at += 16;
  while (at + 8 <= text.size() && isPlain(wordAt(text.data() + at))) at += 8;
  return at;
}

/** Returns the length of the character at `at`; 0 if it is invalid. Source: Unicode, table 3-7. */
std::size_t sequenceAt(std::string_view text, std::size_t at) {
  const auto byte = [text](std::size_t index) { return index < text.size() ? static_cast<unsigned char>(text[index]) : 0U; };
  const auto follows = [byte](std::size_t index) { return (byte(index) & 0xc0U) == 0x80U; };
  const unsigned first = byte(at);
  const unsigned second = byte(at + 1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(at + 1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool isShortest = first != 0xe0 || second >= 0xa0;
    const bool isSurrogate = first == 0xed && second >= 0xa0;
    return isShortest && !isSurrogate && follows(at + 1) && follows(at + 2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool isInRange = (first != 0xf0 || second >= 0x90) && (first != 0xf4 || second <= 0x8f);
    return isInRange && follows(at + 1) && follows(at + 2) && follows(at + 3) ? 4 : 0;
  }
  return 0;
}

void appendEscaped(std::string& json, char character) {
  constexpr char digits[] = "0123456789abcdef";
  switch (character) {
    case '"': json += "\\\""; return;
    case '\\': json += "\\\\"; return;
    case '\b': json += "\\b"; return;
    case '\f': json += "\\f"; return;
    case '\n': json += "\\n"; return;
    case '\r': json += "\\r"; return;
    case '\t': json += "\\t"; return;
    default: break;
  }
  json += "\\u00";
  json += digits[static_cast<unsigned char>(character) >> 4];
  json += digits[character & 0xf];
}

}  // namespace

bool appendJsonText(std::string& json, std::string_view text, bool& isAscii) {
  json += '"';
  std::size_t written = 0;
  for (std::size_t at = 0; at < text.size();) {
    at = passPlain(text, at);
    if (at == text.size()) break;
    const char character = text[at];
    const std::size_t bytes = sequenceAt(text, at);
    if (bytes == 0) return false;
    if (bytes > 1) isAscii = false;
    if (static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\') {
      json.append(text, written, at - written);
      appendEscaped(json, character);
      written = at + 1;
    }
    at += bytes;
  }
  json.append(text, written);
  json += '"';
  return true;
}

}  // namespace workspace::vsock
