#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace workspace::vsock {

/** A frame is a length in four bytes, big-endian, and that many bytes of MessagePack. */
constexpr std::size_t lengthBytes = 4;

enum class FrameState { whole, partial, wrong };

struct Frame {
  FrameState state;
  /** The announced length, once four bytes have arrived. */
  std::uint32_t length;
};

/** Reads the first frame. Checks its length against the limit before anything else (threat B4). */
inline Frame frameAt(std::span<const std::uint8_t> bytes, std::uint32_t maxBytes) {
  if (bytes.size() < lengthBytes) return {FrameState::partial, 0};
  const std::uint32_t length = static_cast<std::uint32_t>(bytes[0]) << 24 | static_cast<std::uint32_t>(bytes[1]) << 16 |
                               static_cast<std::uint32_t>(bytes[2]) << 8 | bytes[3];
  if (length == 0 || length > maxBytes) return {FrameState::wrong, length};
  return {bytes.size() - lengthBytes < length ? FrameState::partial : FrameState::whole, length};
}

}  // namespace workspace::vsock
