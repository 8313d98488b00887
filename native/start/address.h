#pragma once

namespace workspace::start {

/**
 * Gives a network interface an IPv4 address and takes it up; a gateway becomes the default route, and "-" is none. Source:
 * netdevice(7), rtnetlink has more than is needed. Returns 0 or the error number.
 */
int setAddress(const char* interface, const char* address, int prefixLength, const char* gateway);

}  // namespace workspace::start
