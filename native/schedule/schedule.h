#pragma once

namespace workspace::schedule {

/**
 * Shortens the time slice of the calling thread, and of the programs it starts, to half a millisecond. When it wakes up, it interrupts a
 * thread with a longer slice instead of waiting up to 3 ms for its end. Its share of the processors stays the same. Kernels before Linux 6.12
 * ignore it. Returns 0 or an errno; ENOSYS elsewhere than on Linux. Source: sched_setattr(2).
 */
int shortenSlice();

/**
 * Gives all threads of the process the short slice and a niceness (-20 to 19). Programs that they start begin with the default slice and
 * niceness 0. Returns 0 or an errno, EPERM where the niceness is not allowed; ENOSYS elsewhere than on Linux.
 */
int prioritize(int niceness);

}  // namespace workspace::schedule
