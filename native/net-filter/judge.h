#pragma once

#include <cstdint>
#include <span>

#include "policy.h"

namespace workspace::net_filter {

/** Location of an address, from the host's point of view. */
enum class Location {
  /** Beyond the host, through an interface that connects to other hosts. */
  outside,
  /** One of the host's own addresses. */
  host,
  /** On a network that exists only on this host, such as a container bridge, or unreachable. */
  inside,
};

/** Looks up locations of addresses. */
class Locator {
 public:
  virtual ~Locator() = default;
  virtual Location find(Address address) = 0;
  /** Called when the host's network has changed. */
  virtual void forget() {}
};

/**
 * Whether a guest may send this Ethernet frame: its source is the guest's MAC and IPv4 address, it is ARP, TCP, UDP
 * or an ICMP echo, and the policy and the location of the address allow its destination. Everything else is refused,
 * including IPv6.
 */
bool mayPass(std::span<const std::uint8_t> frame, const Policy& policy, Locator& locator);

}  // namespace workspace::net_filter
