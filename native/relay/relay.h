#pragma once

namespace workspace::relay {

/**
 * Copies bytes between any pollable descriptor and a Unix socket, in both directions, until both have ended; for
 * descriptors without a Node stream: AF_VSOCK, and the near end of a terminal. Returns the other end of the socket,
 * which the caller owns, or the negative errno. Closes `descriptor` in either case when it is finished.
 *
 * The end of one direction is forwarded and leaves the other open. At most 128 KiB are buffered; a slow reader makes
 * the other side wait. A single thread serves all pairs.
 */
int attach(int descriptor);

}  // namespace workspace::relay
