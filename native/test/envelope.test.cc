#include "../vsock/envelope.h"

#include <cstdint>
#include <string>
#include <vector>

#include "../vsock/frame.h"
#include "check.h"
#include "envelope-bytes.h"

using namespace workspace::vsock;
using namespace workspace::test;

namespace {

struct Read {
  bool isRead;
  Envelope envelope;
  Payload payload;
};

/** Reads from a separate copy, so that the sanitizer detects the first read beyond its end. */
Read read(const std::vector<std::uint8_t>& bytes) {
  Read result{};
  result.isRead = readEnvelope(bytes, result.envelope, result.payload);
  return result;
}

std::string payloadOf(const std::string& payload) {
  const auto [isRead, envelope, json] = read(bytesOf(envelopeBytes(payload)));
  return isRead ? json.json : "left";
}

}  // namespace

TEST("readEnvelope returns the payload as JSON") {
  const auto bytes = bytesOf(envelopeBytes(somePayload(), "response"));
  const auto [isRead, envelope, payload] = read(bytes);
  CHECK(isRead && envelope.nameSpace == "demo" && envelope.type == "response" && !envelope.isFinal);
  CHECK(envelope.id == envelope.inReplyTo && envelope.id.size() == 36 && envelope.timestamp == "2026-01-01T00:00:00.000Z");
  CHECK(payload.json == "{\"a\":[\"\xc3\xa4\\n\",null,true,1,-1,1099511627776,{}]}" && !payload.isAscii);
  CHECK(read(bytesOf(envelopeBytes("\x80"))).payload.isAscii);
}

TEST("B4 readEnvelope rejects an envelope that is cut at any byte or has extra bytes") {
  const auto bytes = bytesOf(envelopeBytes(somePayload(), "response"));
  for (std::size_t length = 0; length < bytes.size(); length++) CHECK(!read({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}).isRead);
  auto longer = bytes;
  longer.push_back(0xc0);
  CHECK(!read(longer).isRead);
}

TEST("readEnvelope leaves values without an exact JSON equivalent to the other reader") {
  const std::string key = "\x81" + text("a");
  for (const std::string& value : std::vector<std::string>{
           std::string("\xcb\x3f\xf8\0\0\0\0\0\0", 9),               // 1.5
           std::string("\xcf\x00\x20\0\0\0\0\0\0", 9),               // 2^53
           std::string("\xd3\xff\xe0\0\0\0\0\0\0", 9),               // -2^53
           std::string("\xd3\x80\0\0\0\0\0\0\0", 9),                 // the minimum
           std::string("\xc4\x01\x00", 3), "\xd4\x01\x01", "\xc1",   // bytes, an extension, an invalid tag
           text("\xff"), text("\xc0\x80"), text("\xed\xa0\x80"), text("\xf4\x90\x80\x80"), text("\xe2\x82"), text("\xef\xbb\xbf"),
           "\x81" + text("1") + "\x01", "\x81" + text("__proto__") + "\x01", "\x82" + text("b") + "\x01" + text("b") + "\x02", "\x81\x01\x01"}) {
    CHECK(payloadOf(key + value) == "left");
  }
  CHECK(payloadOf("\x91\x01") == "left" && payloadOf("\xc0") == "left");
  CHECK(payloadOf(key + std::string(64, '\x91') + "\x01") == "left" && payloadOf(key + std::string(63, '\x91') + "\x01") != "left");
}

TEST("appendJsonText escapes every character as JSON.stringify does") {
  std::string all;
  for (int c = 0; c < 128; c++) all += static_cast<char>(c);
  const std::string json = payloadOf("\x81" + text("a") + text(all));
  CHECK(json.find("\\u0000\\u0001") != std::string::npos && json.find("\\b\\t\\n\\u000b\\f\\r\\u000e") != std::string::npos);
  CHECK(json.find("!\\\"#") != std::string::npos && json.find("[\\\\]") != std::string::npos && json.find("~\x7f\"}") != std::string::npos);
}

TEST("B4 frameAt checks a frame's length against the limit first") {
  const auto state = [](std::vector<std::uint8_t> bytes, std::uint32_t maxBytes) { return frameAt(bytes, maxBytes).state; };
  CHECK(state({}, 10) == FrameState::partial && state({0, 0, 0}, 10) == FrameState::partial && state({0, 0, 0, 1}, 10) == FrameState::partial);
  CHECK(state({0, 0, 0, 0}, 10) == FrameState::wrong && state({0, 0, 0, 11}, 10) == FrameState::wrong);
  CHECK(state({0xff, 0xff, 0xff, 0xff}, 0xffffffff) == FrameState::partial && state({0xff, 0xff, 0xff, 0xff}, 10) == FrameState::wrong);
  CHECK(state({0, 0, 0, 1, 7}, 1) == FrameState::whole && state({0, 0, 0, 1, 7, 8}, 1) == FrameState::whole);
}
