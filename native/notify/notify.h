#pragma once

#include <string_view>

namespace workspace::notify {

/** Whether a send waits until the receiver has room. */
enum class Wait : bool { no, yes };

/**
 * Sends one datagram to a Unix socket, such as that of a service manager or a syslog server; a name starting with @ is
 * an abstract socket. Returns 0 or the errno: EPROTOTYPE for a stream socket, EAGAIN for a receiver without room.
 * Source: unix(7), sd_notify(3).
 */
int send(std::string_view socket, std::string_view text, Wait wait);

}  // namespace workspace::notify
