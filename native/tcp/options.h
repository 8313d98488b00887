#pragma once

namespace workspace::tcp {

/**
 * Limits how long sent data may stay unacknowledged before the kernel closes a connection (TCP_USER_TIMEOUT, RFC
 * 5482). Otherwise the disappearance of a peer is noticed only after a quarter of an hour. Returns 0 or an errno;
 * ENOSYS on systems other than Linux.
 */
int setUserTimeout(int fd, unsigned int timeoutMs);

/**
 * Acknowledges received data immediately, instead of waiting up to 40 ms for outgoing data (TCP_QUICKACK). The kernel
 * returns to delayed acknowledgements later. Returns 0 or an errno; ENOSYS on systems other than Linux.
 */
int acknowledgeNow(int fd);

}  // namespace workspace::tcp
