#pragma once

namespace workspace::start {

/**
 * Gives a network interface an IPv4 address and brings it up; a gateway becomes the default route, "-" means none.
 * Source:
 * netdevice(7), which is sufficient and simpler than rtnetlink. Returns 0 or the errno.
 */
int setAddress(const char* interface, const char* address, int prefixLength, const char* gateway);

/** Sets a network interface's MAC address, six hexadecimal bytes with colons. Source: netdevice(7). Returns 0 or the errno. */
int setMac(const char* interface, const char* mac);

}  // namespace workspace::start
