#pragma once

#include <unordered_map>

#include "judge.h"

namespace workspace::net_filter {

/**
 * Asks the kernel's routing table where an address is, and remembers its answers until an address, a link or a route of the host
 * changes. Needs no privilege. Source: rtnetlink(7).
 */
class HostPlaces : public Places {
 public:
  /** Throws nothing; `isOpen` is false, with errno set, when the kernel's sockets cannot be had. */
  HostPlaces();
  ~HostPlaces() override;
  HostPlaces(const HostPlaces&) = delete;
  HostPlaces& operator=(const HostPlaces&) = delete;

  bool isOpen() const { return requests_ >= 0 && changes_ >= 0; }
  /** A descriptor that is readable when the host's network has changed; then call `forget`. */
  int changes() const { return changes_; }
  void forget() override;
  Place find(Address address) override;

 private:
  Place ask(Address address);

  int requests_ = -1;
  int changes_ = -1;
  std::uint32_t sequence_ = 0;
  std::unordered_map<Address, Place> known_;
};

}  // namespace workspace::net_filter
