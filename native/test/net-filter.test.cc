#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "../net-filter/host-locator.h"
#include "../net-filter/judge.h"
#include "../net-filter/relay.h"
#include "check.h"

using namespace workspace::net_filter;

namespace {

using Frame = std::vector<std::uint8_t>;

class FakeLocator : public Locator {
 public:
  Location find(Address address) override {
    if (address == *parseAddress("198.51.100.1")) return Location::host;
    return address == *parseAddress("172.17.0.2") ? Location::inside : Location::outside;
  }
};

Policy policyOf(const char* rules) {
  Policy policy;
  policy.mac = *parseMac("06:00:00:00:00:01");
  policy.address = *parseAddress("10.0.2.15");
  policy.subnet = *parsePrefix("10.0.2.15/24");
  policy.gateway = *parseAddress("10.0.2.2");
  policy.resolver = *parseAddress("10.0.2.3");
  CHECK(applyRules(rules, policy));
  return policy;
}

void put(Frame& frame, std::size_t at, Address address) {
  for (int i = 0; i < 4; i++) frame[at + static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(address >> (24 - 8 * i));
}

/** A datagram from the guest, which may go anywhere that its policy allows. */
Frame datagram(const char* to, std::uint16_t port = 443) {
  Frame frame(14 + 20 + 8);
  const std::uint8_t mac[] = {6, 0, 0, 0, 0, 1};
  std::memcpy(frame.data() + 6, mac, 6);
  frame[12] = 8;
  frame[14] = 0x45;
  frame[17] = 28;
  frame[23] = 17;
  put(frame, 26, *parseAddress("10.0.2.15"));
  put(frame, 30, *parseAddress(to));
  frame[36] = static_cast<std::uint8_t>(port >> 8);
  frame[37] = static_cast<std::uint8_t>(port);
  return frame;
}

bool passes(const Frame& frame, const char* rules = "egress open\n") {
  FakeLocator locator;
  return mayPass(frame, policyOf(rules), locator);
}

TEST("a frame filter passes frames by policy and location of the destination") {
  CHECK(passes(datagram("203.0.113.5")));
  CHECK(passes(datagram("192.168.1.1")));
  CHECK(!passes(datagram("192.168.1.1"), "egress internet\n"));
  CHECK(!passes(datagram("203.0.113.5"), "egress none\n"));
  CHECK(passes(datagram("203.0.113.5"), "egress listed\nallow 203.0.113.0/24\n"));
  CHECK(!passes(datagram("203.0.114.5"), "egress listed\nallow 203.0.113.0/24\n"));
  for (const char* never : {"127.0.0.1", "0.0.0.0", "169.254.169.254", "224.0.0.1", "255.255.255.255", "10.0.2.2", "10.0.2.9", "172.17.0.2", "198.51.100.1"})
    CHECK(!passes(datagram(never)));
}

TEST("a frame filter opens ports of the host by their numbers") {
  const char* rules = "egress none\nhost-port 443\n";
  CHECK(passes(datagram("10.0.2.2"), rules));
  CHECK(passes(datagram("198.51.100.1"), rules));
  CHECK(!passes(datagram("198.51.100.1", 444), rules));
  CHECK(!passes(datagram("172.17.0.2"), rules));
  Frame fragment = datagram("198.51.100.1");
  fragment[20] = 0x20;
  CHECK(!passes(fragment, rules));
}

TEST("a frame filter passes only DNS to the resolver") {
  CHECK(passes(datagram("10.0.2.3", 53)));
  CHECK(!passes(datagram("10.0.2.3", 54)));
  CHECK(!passes(datagram("10.0.2.3", 53), "egress none\n"));
}

TEST("a frame filter refuses a frame with any changed byte of its source") {
  const Frame whole = datagram("203.0.113.5");
  // The MAC, the source address, the version and the length.
  for (const std::size_t at : {6, 7, 8, 9, 10, 11, 12, 13, 14, 26, 27, 28, 29}) {
    for (int value = 0; value < 256; value++) {
      Frame changed = whole;
      if (changed[at] == value) continue;
      changed[at] = static_cast<std::uint8_t>(value);
      CHECK(!passes(changed));
    }
  }
  for (std::size_t size = 0; size < whole.size(); size++) CHECK(!passes(Frame(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))));
}

TEST("a frame filter applies rules completely or not at all") {
  Policy policy = policyOf("egress open\nhost-port 80\n");
  for (const char* wrong : {"egress all\n", "allow 10.0.0.0/33\n", "allow x\n", "host-port 0\n", "host-port 65536\n", "port 1\n", "egress open\nx\n"}) {
    CHECK(!applyRules(wrong, policy));
    CHECK(policy.egress == Egress::open && policy.hostPorts.size() == 1);
  }
  CHECK(applyRules("", policy));
  CHECK(policy.egress == Egress::none && policy.hostPorts.empty());
}

/** Feeds bytes into a stream in pieces of random sizes; returns what passed. */
std::string sifted(const Frame& bytes, std::mt19937& random, bool& isBroken) {
  FakeLocator locator;
  const Policy policy = policyOf("egress open\n");
  FrameStream stream;
  std::string passed;
  for (std::size_t at = 0; at < bytes.size();) {
    CHECK(stream.roomBytes() > 0);
    const std::size_t count = std::min({1 + random() % 700, bytes.size() - at, stream.roomBytes()});
    std::memcpy(stream.room(), bytes.data() + at, count);
    at += count;
    isBroken = !stream.sift(count, policy, locator);
    passed.append(reinterpret_cast<const char*>(stream.passed()), stream.passedBytes());
    stream.clear();
    if (isBroken) break;
  }
  return passed;
}

void append(Frame& stream, const Frame& frame) {
  const auto size = static_cast<std::uint32_t>(frame.size());
  for (int shift = 24; shift >= 0; shift -= 8) stream.push_back(static_cast<std::uint8_t>(size >> shift));
  stream.insert(stream.end(), frame.begin(), frame.end());
}

TEST("a frame stream passes only complete frames, however its bytes arrive") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; round++) {
    Frame all;
    Frame allowed;
    for (int i = 0; i < 50; i++) {
      Frame frame = datagram(i % 3 == 0 ? "127.0.0.1" : "203.0.113.5");
      frame.resize(frame.size() + random() % 3000);
      append(all, frame);
      if (i % 3 != 0) append(allowed, frame);
    }
    bool isBroken = false;
    CHECK(sifted(all, random, isBroken) == std::string(allowed.begin(), allowed.end()));
    CHECK(!isBroken);
  }
}

TEST("a frame stream rejects an invalid frame length") {
  std::mt19937 random(1);
  for (const std::uint32_t length : {0U, 69'633U, 0xffffffffU}) {
    Frame bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::uint8_t>(length >> shift));
    bool isBroken = false;
    CHECK(sifted(bytes, random, isBroken).empty());
    CHECK(isBroken);
  }
}

TEST("a frame stream survives random bytes") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; round++) {
    Frame bytes;
    for (int i = 0; i < 5; i++) {
      Frame frame = datagram("203.0.113.5");
      for (std::size_t changes = random() % 6; changes > 0; changes--) frame[random() % frame.size()] = static_cast<std::uint8_t>(random());
      append(bytes, frame);
    }
    if (round % 4 == 0) bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
    bool isBroken = false;
    CHECK(sifted(bytes, random, isBroken).size() <= bytes.size());
  }
}

TEST("HostLocator finds the host's own addresses in its routing table") {
  HostLocator locator;
  CHECK(locator.isOpen());
  CHECK(locator.find(*parseAddress("127.0.0.1")) == Location::host);
  CHECK(locator.find(*parseAddress("255.255.255.255")) != Location::outside);
}

}  // namespace

#endif
