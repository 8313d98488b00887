#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "../net-filter/judge.h"
#include "../net-filter/relay.h"

using namespace workspace::net_filter;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::array<std::uint8_t, 6> MAC = {6, 0, 0, 0, 0, 1};
constexpr Address GUEST = 0x0a00020f;
constexpr Address RESOLVER = 0x0a000203;
constexpr std::uint16_t OPEN_PORT = 443;

/** Gives every address a location by its lowest bits. */
class FakeLocator : public Locator {
 public:
  Location find(Address address) override { return static_cast<Location>(address % 3); }
};

Policy policyOf(std::uint8_t choice) {
  Policy policy;
  policy.mac = MAC;
  policy.address = GUEST;
  policy.subnet = {GUEST, 24};
  policy.gateway = 0x0a000202;
  policy.resolver = RESOLVER;
  policy.egress = static_cast<Egress>(choice % 4);
  policy.allowed = {{0xcb007100, 24}};
  if ((choice & 4) != 0) policy.hostPorts = {OPEN_PORT};
  return policy;
}

Address addressAt(std::span<const std::uint8_t> bytes, std::size_t at) {
  return static_cast<Address>(bytes[at]) << 24 | static_cast<Address>(bytes[at + 1]) << 16 | static_cast<Address>(bytes[at + 2]) << 8 | bytes[at + 3];
}

/** Aborts if a frame that passed has a foreign source, or a destination that no policy allows. */
void checkPassed(std::span<const std::uint8_t> frame, const Policy& policy) {
  if (frame.size() < 34 || !std::equal(MAC.begin(), MAC.end(), frame.begin() + 6)) std::abort();
  const int type = frame[12] << 8 | frame[13];
  if (type == 0x0806) return;
  if (type != 0x0800 || addressAt(frame, 26) != GUEST) std::abort();
  const Address to = addressAt(frame, 30);
  const int port = frame.size() < 38 ? 0 : frame[36] << 8 | frame[37];
  if (to == RESOLVER) {
    if (policy.egress == Egress::none || port != 53) std::abort();
    return;
  }
  const bool isPortOpen = !policy.hostPorts.empty() && port == OPEN_PORT;
  if (to == policy.gateway) {
    if (!isPortOpen) std::abort();
    return;
  }
  // Link-local and multicast addresses, regardless of the routing table.
  if (to >> 16 == 0xa9fe || to >> 28 >= 0xe || to >> 24 == 127 || to >> 24 == 0 || to >> 8 == GUEST >> 8) std::abort();
  const auto location = static_cast<Location>(to % 3);
  if (location == Location::inside || (location == Location::host && !isPortOpen)) std::abort();
  if (location == Location::outside && policy.egress == Egress::none) std::abort();
  if (location == Location::outside && policy.egress == Egress::listed && to >> 8 != 0xcb0071) std::abort();
}

/** Returns the passed part of a stream that arrives in pieces of one size, up to the first invalid length. */
Bytes passedOf(std::span<const std::uint8_t> bytes, std::size_t piece, const Policy& policy) {
  FakeLocator locator;
  FrameStream stream;
  Bytes passed;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const std::size_t count = std::min({piece, bytes.size() - at, stream.roomBytes()});
    if (count == 0) std::abort();
    std::memcpy(stream.room(), bytes.data() + at, count);
    const bool isValid = stream.sift(count, policy, locator);
    passed.insert(passed.end(), stream.passed(), stream.passed() + stream.passedBytes());
    if (!isValid) break;
    stream.clear();
  }
  return passed;
}

}  // namespace

/**
 * libFuzzer's entry. The first byte selects a policy, the second the size of the pieces in which the rest arrives as
 * a guest's stream of frames. Only complete, allowed frames may pass; the result must not depend on the pieces.
 */
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const Policy policy = policyOf(data[0]);
  const std::span<const std::uint8_t> bytes(data + 2, size - 2);
  const Bytes passed = passedOf(bytes, bytes.size(), policy);
  if (passed != passedOf(bytes, data[1] + std::size_t{1}, policy)) std::abort();
  std::size_t at = 0;
  while (at < passed.size()) {
    if (passed.size() - at < LENGTH_BYTES) std::abort();
    const std::size_t length = addressAt(passed, at);
    if (length > passed.size() - at - LENGTH_BYTES) std::abort();
    checkPassed(std::span(passed).subspan(at + LENGTH_BYTES, length), policy);
    at += LENGTH_BYTES + length;
  }
  return 0;
}
