#pragma once

namespace workspace::relay {

/**
 * Copies bytes between a descriptor of any kind that can be polled and a Unix socket, both ways, until both directions have
 * ended; for what Node knows no stream of: AF_VSOCK, and the near end of a terminal. Returns the socket's other end, which
 * is the caller's, or the negative error number; `descriptor` is closed in either case when it is done with.
 *
 * The end of one direction is passed on and leaves the other open. At most 128 KiB are held; who does not read makes the
 * other side wait. One thread serves all.
 */
int attach(int descriptor);

}  // namespace workspace::relay
