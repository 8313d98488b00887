#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace workspace::test {

inline std::string text(const std::string& value) {
  if (value.size() < 32) return static_cast<char>(0xa0 | value.size()) + value;
  return std::string{'\xda', static_cast<char>(value.size() >> 8), static_cast<char>(value.size())} + value;
}

/** Encodes an agent's envelope around a payload, in MessagePack. */
inline std::string envelopeBytes(const std::string& payload, const std::string& type = "request") {
  const std::string id = "01234567-89ab-7000-8000-000000000000";
  const bool isReply = type == "response";
  std::string bytes(1, static_cast<char>(isReply ? 0x87 : 0x85));
  bytes += text("id") + text(id) + text("namespace") + text("demo") + text("type") + text(type);
  if (isReply) bytes += text("in_reply_to") + text(id) + text("final") + '\xc2';
  return bytes + text("timestamp") + text("2026-01-01T00:00:00.000Z") + text("payload") + payload;
}

/** {"a": ["ä\n", nil, true, 1, -1, 2^40 as a double, {}]} */
inline std::string somePayload() {
  return "\x81" + text("a") + "\x97" + text("\xc3\xa4\n") + "\xc0\xc3\x01\xff" + std::string("\xcb\x42\x70\0\0\0\0\0\0", 9) + "\x80";
}

inline std::vector<std::uint8_t> bytesOf(const std::string& value) { return {value.begin(), value.end()}; }

}  // namespace workspace::test
