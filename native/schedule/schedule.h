#pragma once

namespace workspace::schedule {

/**
 * Shortens the time slice of the calling thread, and of the programs it starts, to half a millisecond. When it wakes
 * up, it preempts a thread with a longer slice instead of waiting up to 3 ms for its end. Its share of CPU time stays
 * the same. Kernels before Linux 6.12 ignore it. Returns 0 or an errno; ENOSYS on systems other than Linux. Source:
 * sched_setattr(2).
 */
int shortenSlice();

/**
 * Gives all threads of the process the short slice and a niceness (-20 to 19). Programs that they start have the
 * default slice and niceness 0. Returns 0 or an errno, EPERM if the niceness is not allowed; ENOSYS on systems other
 * than Linux.
 */
int prioritize(int niceness);

}  // namespace workspace::schedule
