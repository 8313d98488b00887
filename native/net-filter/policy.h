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

/** Destinations that a guest may reach beyond the host. */
enum class Egress { open, internet, none, listed };

/** Network identity of the guest, and its allowed destinations. */
struct Policy {
  std::array<std::uint8_t, 6> mac{};
  Address address = 0;
  /** Router that the guest sees; gives access to the host's loopback interface if ports are open. */
  Address gateway = 0;
  /** Address that answers DNS queries over UDP. */
  Address resolver = 0;
  /** The guest's own subnet. */
  Prefix subnet;
  /** Ports of the host that the guest may connect to. */
  std::vector<std::uint16_t> hostPorts;
  Egress egress = Egress::none;
  /** Destinations that `Egress::listed` allows. */
  std::vector<Prefix> allowed;
};

/** Parses only dotted decimal notation. */
std::optional<Address> parseAddress(std::string_view text);
/** Parses `ADDRESS/LENGTH`, or an address, which is a prefix of 32 bits. */
std::optional<Prefix> parsePrefix(std::string_view text);
/** Parses six pairs of hexadecimal digits with colons between them. */
std::optional<std::array<std::uint8_t, 6>> parseMac(std::string_view text);

/**
 * Parses rules into a policy: lines `egress open|internet|none|listed`, `allow PREFIX`, `host-port PORT`. Returns
 * false, and leaves the policy unchanged, if any line is invalid.
 */
bool applyRules(std::string_view text, Policy& policy);

}  // namespace workspace::net_filter
