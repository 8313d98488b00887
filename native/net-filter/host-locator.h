#pragma once

#include <unordered_map>

#include "judge.h"

namespace workspace::net_filter {

/**
 * Looks up the location of an address in the kernel's routing table, and caches it until an address, a link or a
 * route of the host changes. Needs no privilege. Source: rtnetlink(7).
 */
class HostLocator : public Locator {
 public:
  /** Never throws; `isOpen` returns false, with errno set, if the kernel's sockets cannot be opened. */
  HostLocator();
  ~HostLocator() override;
  HostLocator(const HostLocator&) = delete;
  HostLocator& operator=(const HostLocator&) = delete;

  bool isOpen() const { return requests_ >= 0 && changes_ >= 0; }
  /** Returns a descriptor that is readable when the host's network has changed; then call `forget`. */
  int changes() const { return changes_; }
  void forget() override;
  Location find(Address address) override;

 private:
  Location ask(Address address);

  int requests_ = -1;
  int changes_ = -1;
  std::uint32_t sequence_ = 0;
  std::unordered_map<Address, Location> cache_;
};

}  // namespace workspace::net_filter
