#pragma once

#include <cstdint>
#include <span>

#include "policy.h"

namespace workspace::net_filter {

/** Where an address is, seen from the host. */
enum class Place {
  /** Beyond the host, by an interface that leads out. */
  outside,
  /** One of the host's own addresses. */
  host,
  /** On a network that exists on this host alone, such as a bridge of containers, or nowhere. */
  inside,
};

/** Looks up where addresses are. */
class Places {
 public:
  virtual ~Places() = default;
  virtual Place find(Address address) = 0;
  /** Called when the host's network has changed. */
  virtual void forget() {}
};

/**
 * Returns whether a guest may send this Ethernet frame: its source is the guest's own MAC and IPv4 address, it is ARP, TCP, UDP or an ICMP
 * echo, and its destination is one that the policy and the place of the address allow. Everything else is refused, IPv6 included.
 */
bool mayPass(std::span<const std::uint8_t> frame, const Policy& policy, Places& places);

}  // namespace workspace::net_filter
