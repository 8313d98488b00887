#pragma once

#include <signal.h>
#include <sys/types.h>

#include "meeting.h"

namespace workspace::run {

/**
 * Becomes a program, found as a container engine finds one: by PATH when its name has no slash, and never as a script that
 * does not name its interpreter. Where that cannot be, says so on standard error and ends with 127 where there is none,
 * else with 126.
 */
[[noreturn]] void becomeProgram(char* const* argv);

/**
 * Starts a program in a session of its own, with these streams and this signal mask, as `becomeProgram` does. Returns its
 * id, or the negative error number.
 */
pid_t startProgram(char* const* argv, const Streams& streams, const sigset_t& mask);

/** Sends a signal to a program's group. */
void signalProgram(pid_t program, int number);

}  // namespace workspace::run
