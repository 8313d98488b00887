#include "judge.h"

#include <algorithm>
#include <array>

namespace workspace::net_filter {

namespace {

using Bytes = std::span<const std::uint8_t>;

constexpr std::size_t ETHERNET_HEADER = 14;
constexpr std::uint16_t TYPE_IPV4 = 0x0800;
constexpr std::uint16_t TYPE_ARP = 0x0806;
constexpr std::size_t ARP_BODY = 28;
constexpr std::size_t IPV4_HEADER = 20;
constexpr std::uint8_t ICMP = 1;
constexpr std::uint8_t TCP = 6;
constexpr std::uint8_t UDP = 17;
constexpr std::uint8_t ECHO_REQUEST = 8;
constexpr std::uint16_t DNS = 53;

constexpr Prefix prefix(int a, int b, int c, int d, int length) {
  return {static_cast<Address>(a) << 24 | static_cast<Address>(b) << 16 | static_cast<Address>(c) << 8 | static_cast<Address>(d), length};
}

/**
 * Addresses that are never valid destinations outside the host. Source: IANA's IPv4 special-purpose address registry.
 */
constexpr std::array NEVER = {
    prefix(0, 0, 0, 0, 8),      prefix(127, 0, 0, 0, 8), prefix(169, 254, 0, 0, 16),
    prefix(192, 0, 0, 0, 24),   prefix(224, 0, 0, 0, 4), prefix(240, 0, 0, 0, 4),
};
/** Private networks, which `egress: internet` excludes. Source: RFC 1918, RFC 6598, RFC 2544. */
constexpr std::array PRIVATE = {
    prefix(10, 0, 0, 0, 8), prefix(172, 16, 0, 0, 12), prefix(192, 168, 0, 0, 16), prefix(100, 64, 0, 0, 10), prefix(198, 18, 0, 0, 15),
};

std::uint16_t u2(Bytes bytes, std::size_t at) { return static_cast<std::uint16_t>(bytes[at] << 8 | bytes[at + 1]); }
Address u4(Bytes bytes, std::size_t at) { return static_cast<Address>(u2(bytes, at)) << 16 | u2(bytes, at + 2); }

template <typename Prefixes>
bool isIn(const Prefixes& prefixes, Address address) {
  return std::any_of(prefixes.begin(), prefixes.end(), [address](const Prefix& each) { return each.contains(address); });
}

bool isFrom(Bytes mac, const Policy& policy) { return std::equal(mac.begin(), mac.end(), policy.mac.begin(), policy.mac.end()); }

/** Whether the guest asks for any address or answers for its own. */
bool mayPassArp(Bytes arp, const Policy& policy) {
  if (arp.size() < ARP_BODY) return false;
  const bool isIpv4OverEthernet = u2(arp, 0) == 1 && u2(arp, 2) == TYPE_IPV4 && arp[4] == 6 && arp[5] == 4;
  const std::uint16_t operation = u2(arp, 6);
  if (!isIpv4OverEthernet || (operation != 1 && operation != 2)) return false;
  const Address sender = u4(arp, 14);
  // A probe for a duplicate address has no sender address.
  const bool isProbe = operation == 1 && sender == 0;
  return isFrom(arp.subspan(8, 6), policy) && (sender == policy.address || isProbe);
}

/** A complete IPv4 packet without options, with fields of its transport header. */
struct Packet {
  Address source = 0;
  Address destination = 0;
  std::uint8_t protocol = 0;
  bool isFragment = false;
  /** TCP or UDP port; 0 in fragments, whose ports cannot be trusted. */
  std::uint16_t port = 0;
};

bool parsePacket(Bytes ip, Packet& packet) {
  // Options are refused: guests do not need them, and a source route would name another destination.
  if (ip.size() < IPV4_HEADER || ip[0] != 0x45) return false;
  const std::size_t length = u2(ip, 2);
  if (length < IPV4_HEADER || length > ip.size()) return false;
  const std::uint16_t fragment = u2(ip, 6);
  packet.isFragment = (fragment & 0x3fff) != 0;
  packet.protocol = ip[9];
  packet.source = u4(ip, 12);
  packet.destination = u4(ip, 16);
  if (packet.isFragment) return true;
  const Bytes body = ip.subspan(IPV4_HEADER, length - IPV4_HEADER);
  if (packet.protocol == ICMP) return body.size() >= 8 && body[0] == ECHO_REQUEST;
  if (body.size() < (packet.protocol == TCP ? 20U : 8U)) return false;
  packet.port = u2(body, 2);
  return true;
}

bool isPortOpen(const Packet& packet, const Policy& policy) {
  if (packet.isFragment || (packet.protocol != TCP && packet.protocol != UDP)) return false;
  return std::find(policy.hostPorts.begin(), policy.hostPorts.end(), packet.port) != policy.hostPorts.end();
}

bool isAllowedOutside(Address address, const Policy& policy) {
  switch (policy.egress) {
    case Egress::open: return true;
    case Egress::internet: return !isIn(PRIVATE, address);
    case Egress::listed: return isIn(policy.allowed, address);
    case Egress::none: return false;
  }
  return false;
}

bool mayPassIpv4(Bytes ip, const Policy& policy, Locator& locator) {
  Packet packet;
  if (!parsePacket(ip, packet) || packet.source != policy.address) return false;
  if (packet.protocol != TCP && packet.protocol != UDP && packet.protocol != ICMP) return false;
  const Address to = packet.destination;
  if (to == policy.resolver)
    return policy.egress != Egress::none && !packet.isFragment && packet.protocol == UDP && packet.port == DNS;
  if (to == policy.gateway) return isPortOpen(packet, policy);
  if (policy.subnet.contains(to) || isIn(NEVER, to)) return false;
  switch (locator.find(to)) {
    case Location::host: return isPortOpen(packet, policy);
    case Location::outside: return isAllowedOutside(to, policy);
    case Location::inside: return false;
  }
  return false;
}

}  // namespace

bool mayPass(Bytes frame, const Policy& policy, Locator& locator) {
  if (frame.size() < ETHERNET_HEADER || !isFrom(frame.subspan(6, 6), policy)) return false;
  const Bytes body = frame.subspan(ETHERNET_HEADER);
  switch (u2(frame, 12)) {
    case TYPE_ARP: return mayPassArp(body, policy);
    case TYPE_IPV4: return mayPassIpv4(body, policy, locator);
    default: return false;
  }
}

}  // namespace workspace::net_filter
