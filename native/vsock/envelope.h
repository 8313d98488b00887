#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace workspace::vsock {

/** An envelope; the texts point into the bytes of its frame and are ASCII. */
struct Envelope {
  std::string_view id;
  std::string_view nameSpace;
  /** "request", "response" or "event". */
  std::string_view type;
  /** Empty if absent. */
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
 * Reads a frame's content. Returns false for an invalid envelope, and for one that this reader leaves to the other
 * reader (see MsgpackReader); the results are then meaningless.
 */
bool readEnvelope(std::span<const std::uint8_t> frame, Envelope& envelope, Payload& payload);

}  // namespace workspace::vsock
