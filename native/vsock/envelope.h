#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace workspace::vsock {

/** An envelope as it came: the texts lie in the bytes of its frame and are ASCII. */
struct Envelope {
  std::string_view id;
  std::string_view nameSpace;
  /** "request", "response" or "event". */
  std::string_view type;
  /** Empty where there is none. */
  std::string_view inReplyTo;
  bool isFinal = true;
  std::string_view timestamp;
};

/** Its payload, an object. */
struct Payload {
  std::string json;
  bool isAscii = true;
};

/**
 * Reads what a frame holds. False for whatever is no envelope, or one that is written in a way that this reader leaves to another (see
 * MsgpackReader); what was read is then void.
 */
bool readEnvelope(std::span<const std::uint8_t> frame, Envelope& envelope, Payload& payload);

}  // namespace workspace::vsock
