#pragma once

#include <string_view>

namespace workspace::notify {

/**
 * Notifies a service manager: sends one datagram to its Unix socket; a name starting with @ is an abstract socket.
 * Returns 0 or the errno. Source: sd_notify(3).
 */
int send(std::string_view socket, std::string_view text);

}  // namespace workspace::notify
