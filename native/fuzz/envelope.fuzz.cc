#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "../vsock/envelope.h"
#include "../vsock/frame.h"

using namespace workspace::vsock;

namespace {

constexpr std::uint32_t maxBytes = 4096;

bool isWithin(std::string_view text, const std::vector<std::uint8_t>& bytes) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(text.data());
  return text.empty() || (begin >= bytes.data() && begin + text.size() <= bytes.data() + bytes.size());
}

}  // namespace

/**
 * libFuzzer's entry. Each frame is an envelope whose texts lie in it and whose payload is an object, or is left to
 * the other reader.
 */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::span<const std::uint8_t> bytes(data, size);
  for (Frame frame = frameAt(bytes, maxBytes); frame.state == FrameState::whole; frame = frameAt(bytes, maxBytes)) {
    if (frame.length == 0 || frame.length > maxBytes) std::abort();
    // A separate copy, so that the sanitizer detects the first read beyond its end.
    const std::vector<std::uint8_t> body(bytes.begin() + lengthBytes, bytes.begin() + lengthBytes + frame.length);
    Envelope envelope;
    Payload payload;
    if (readEnvelope(body, envelope, payload)) {
      for (const auto& text : {envelope.id, envelope.nameSpace, envelope.type, envelope.inReplyTo, envelope.timestamp}) {
        if (!isWithin(text, body)) std::abort();
      }
      if (payload.json.front() != '{' || payload.json.back() != '}' || envelope.timestamp.size() > 40) std::abort();
      // A control character would end the line of an event.
      for (const char c : payload.json) if (static_cast<unsigned char>(c) < 0x20) std::abort();
    }
    bytes = bytes.subspan(lengthBytes + frame.length);
  }
  return 0;
}
