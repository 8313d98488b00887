#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::net_filter {

/** An IPv4 address in host byte order. */
using Address = std::uint32_t;

struct Prefix {
  Address address = 0;
  /** 0 to 32. */
  int length = 0;

  bool contains(Address other) const {
    return length == 0 || ((address ^ other) >> (32 - length)) == 0;
  }
};

/** What a guest may reach beyond the host. */
enum class Egress { open, internet, none, listed };

/** Who the guest is on its network, and what it may reach. */
struct Policy {
  std::array<std::uint8_t, 6> mac{};
  Address address = 0;
  /** The router that the guest sees; a way to the host's loopback interface where ports are open, else nothing. */
  Address gateway = 0;
  /** Answers DNS queries over UDP. */
  Address resolver = 0;
  /** The guest's own subnet. */
  Prefix subnet;
  /** Ports of the host that the guest may connect to. */
  std::vector<std::uint16_t> hostPorts;
  Egress egress = Egress::none;
  /** What `Egress::listed` allows. */
  std::vector<Prefix> allowed;
};

/** Parses dotted decimal notation; nothing else is an address here. */
std::optional<Address> parseAddress(std::string_view text);
/** Parses `ADDRESS/LENGTH`, or an address alone, which is a prefix of 32 bits. */
std::optional<Prefix> parsePrefix(std::string_view text);
/** Parses six pairs of hexadecimal digits with colons between them. */
std::optional<std::array<std::uint8_t, 6>> parseMac(std::string_view text);

/**
 * Applies a policy's text to a policy: lines `egress open|internet|none|listed`, `allow PREFIX`, `host-port PORT`.
 * Returns false, and leaves the policy as it was, when any line is not one of these.
 */
bool applyRules(std::string_view text, Policy& policy);

}  // namespace workspace::net_filter
