#pragma once

namespace workspace::tcp {

/**
 * Bounds how long sent data may stay unacknowledged before the kernel gives a connection up (TCP_USER_TIMEOUT, RFC 5482).
 * Without it a peer that vanished is noticed after a quarter of an hour. Returns 0 or an errno; ENOSYS elsewhere than on
 * Linux.
 */
int setUserTimeout(int fd, unsigned int timeoutMs);

/**
 * Acknowledges at once what has arrived, which otherwise waits up to 40 ms for data to go with it (TCP_QUICKACK). The kernel falls back
 * to waiting by itself. Returns 0 or an errno; ENOSYS elsewhere than on Linux.
 */
int acknowledgeNow(int fd);

}  // namespace workspace::tcp
