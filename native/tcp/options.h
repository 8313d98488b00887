#pragma once

#include <cstdint>

namespace workspace::tcp {

/**
 * Returns for how many milliseconds the peer of a connection has sent no packet, although sent data or a probe waits
 * for its acknowledgment; 0 if nothing waits, and -1 if the descriptor is not a TCP socket (TCP_INFO, tcp(7)). A peer
 * that is alive acknowledges probes even if it reads nothing. Unlike TCP_USER_TIMEOUT, which also closes connections
 * whose peer reads nothing for that long. -1 on systems other than Linux.
 */
std::int64_t silenceMs(int fd);

/**
 * Limits the time between retransmissions and between probes, which otherwise grows to two minutes (TCP_RTO_MAX_MS,
 * Linux 6.15). Returns 0 or an errno; ENOSYS on systems other than Linux.
 */
int limitBackoff(int fd, int limitMs);

/**
 * Acknowledges received data immediately, instead of waiting up to 40 ms for outgoing data (TCP_QUICKACK). The kernel
 * returns to delayed acknowledgements later. Returns 0 or an errno; ENOSYS on systems other than Linux.
 */
int acknowledgeNow(int fd);

}  // namespace workspace::tcp
