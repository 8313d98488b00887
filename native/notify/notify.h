#pragma once

#include <string_view>

namespace workspace::notify {

/**
 * Tells a service manager something: one datagram to its Unix socket, whose name begins with @ where it is an abstract one.
 * Returns 0 or the error number. Source: sd_notify(3).
 */
int send(std::string_view socket, std::string_view text);

}  // namespace workspace::notify
