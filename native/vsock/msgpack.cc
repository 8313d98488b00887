#include "msgpack.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "json-text.h"

namespace workspace::vsock {

namespace {

/** Maximum nesting, equal to that of request bodies. */
constexpr int maxDepth = 64;
/** From 2^53 on, JavaScript's numbers are not exact. */
constexpr std::uint64_t inexact = 1ULL << 53;
/** Maps with more keys are left to the other reader, because each key is compared with all previous ones. */
constexpr std::size_t maxKeys = 32;

bool isMap(std::uint64_t head) { return (head & 0xf0) == 0x80; }

/** Whether a JavaScript object keeps a key of this name in insertion order. */
bool isPlainKey(std::string_view key) { return key != "__proto__" && !(!key.empty() && key[0] >= '0' && key[0] <= '9'); }

}  // namespace

bool MsgpackReader::take(std::size_t count, std::uint64_t& value) {
  if (bytes_.size() - at_ < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; i++) value = value << 8 | bytes_[at_++];
  return true;
}

bool MsgpackReader::readMapHead(std::size_t& count) {
  std::uint64_t head = 0;
  if (!take(1, head)) return false;
  if (isMap(head)) {
    count = head & 0x0f;
    return true;
  }
  std::uint64_t large = 0;
  if (head != 0xde || !take(2, large)) return false;
  count = large;
  return true;
}

bool MsgpackReader::takeText(std::size_t bytes, std::string_view& text) {
  if (bytes_.size() - at_ < bytes) return false;
  text = {reinterpret_cast<const char*>(bytes_.data() + at_), bytes};
  at_ += bytes;
  // Decoders remove a byte order mark.
  return !text.starts_with("\xef\xbb\xbf");
}

bool MsgpackReader::readText(std::string_view& text) {
  std::uint64_t head = 0;
  std::uint64_t bytes = 0;
  if (!take(1, head)) return false;
  if ((head & 0xe0) == 0xa0) bytes = head & 0x1f;
  else if (head < 0xd9 || head > 0xdb || !take(std::size_t{1} << (head - 0xd9), bytes)) return false;
  return takeText(bytes, text);
}

bool MsgpackReader::readBoolean(bool& value) {
  std::uint64_t head = 0;
  if (!take(1, head) || (head != 0xc2 && head != 0xc3)) return false;
  value = head == 0xc3;
  return true;
}

bool MsgpackReader::readUnsigned(std::string& json, std::size_t bytes) {
  std::uint64_t value = 0;
  if (!take(bytes, value) || value >= inexact) return false;
  json += std::to_string(value);
  return true;
}

bool MsgpackReader::readSigned(std::string& json, std::size_t bytes) {
  std::uint64_t value = 0;
  if (!take(bytes, value)) return false;
  const unsigned unused = 64 - 8 * static_cast<unsigned>(bytes);
  const auto number = static_cast<std::int64_t>(value << unused) >> unused;
  if (number >= static_cast<std::int64_t>(inexact) || -number >= static_cast<std::int64_t>(inexact)) return false;
  json += std::to_string(number);
  return true;
}

bool MsgpackReader::readDouble(std::string& json) {
  std::uint64_t bits = 0;
  if (!take(8, bits)) return false;
  const double value = std::bit_cast<double>(bits);
  // Times in milliseconds are encoded like this. Fractions are left to JavaScript.
  if (!(std::abs(value) < static_cast<double>(inexact)) || value != std::trunc(value)) return false;
  json += std::to_string(static_cast<std::int64_t>(value));
  return true;
}

bool MsgpackReader::readJson(std::string& json, int depth) {
  if (depth > maxDepth || atEnd()) return false;
  const std::uint8_t head = bytes_[at_];
  if ((head & 0xe0) == 0xa0 || (head >= 0xd9 && head <= 0xdb)) {
    std::string_view text;
    return readText(text) && appendJsonText(json, text, isAscii_);
  }
  std::size_t count = 0;
  if (isMap(head) || head == 0xde) return readMapHead(count) && readMap(json, count, depth);
  at_++;
  if (head < 0x80) return json += std::to_string(head), true;
  if (head < 0xa0) return readList(json, head & 0x0f, depth);
  if (head >= 0xe0) return json += std::to_string(static_cast<std::int8_t>(head)), true;
  switch (head) {
    case 0xc0: return json += "null", true;
    case 0xc2: return json += "false", true;
    case 0xc3: return json += "true", true;
    case 0xcb: return readDouble(json);
    case 0xcc: return readUnsigned(json, 1);
    case 0xcd: return readUnsigned(json, 2);
    case 0xce: return readUnsigned(json, 4);
    case 0xcf: return readUnsigned(json, 8);
    case 0xd0: return readSigned(json, 1);
    case 0xd1: return readSigned(json, 2);
    case 0xd2: return readSigned(json, 4);
    case 0xd3: return readSigned(json, 8);
    case 0xdc: {
      std::uint64_t items = 0;
      return take(2, items) && readList(json, items, depth);
    }
    default: return false;
  }
}

bool MsgpackReader::readList(std::string& json, std::size_t count, int depth) {
  json += '[';
  for (std::size_t i = 0; i < count; i++) {
    if (i > 0) json += ',';
    if (!readJson(json, depth + 1)) return false;
  }
  json += ']';
  return true;
}

bool MsgpackReader::readMap(std::string& json, std::size_t count, int depth) {
  if (count > maxKeys) return false;
  const std::size_t outer = keys_.size();
  json += '{';
  for (std::size_t i = 0; i < count; i++) {
    std::string_view key;
    if (!readText(key) || !isPlainKey(key)) return false;
    if (std::find(keys_.begin() + static_cast<std::ptrdiff_t>(outer), keys_.end(), key) != keys_.end()) return false;
    keys_.push_back(key);
    if (i > 0) json += ',';
    if (!appendJsonText(json, key, isAscii_)) return false;
    json += ':';
    if (!readJson(json, depth + 1)) return false;
  }
  json += '}';
  keys_.resize(outer);
  return true;
}

}  // namespace workspace::vsock
