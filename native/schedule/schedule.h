#pragma once

namespace workspace::schedule {

/**
 * Shortens the time slice of the calling thread, and of what it starts, to half a millisecond: when it wakes up it interrupts whoever
 * has a longer one instead of waiting for its end, some 3 ms. Its share of the processors stays the same. Kernels before Linux 6.12
 * ignore it. Returns 0 or an errno; ENOSYS elsewhere than on Linux. Source: sched_setattr(2).
 */
int shortenSlice();

/**
 * Gives all threads of the process the short slice and a niceness (-20 to 19), and what they start neither: that begins at niceness 0.
 * Returns 0 or an errno, EPERM where the niceness is not allowed; ENOSYS elsewhere than on Linux.
 */
int prioritize(int niceness);

}  // namespace workspace::schedule
