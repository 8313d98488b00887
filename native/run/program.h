#pragma once

#include <signal.h>
#include <sys/types.h>

#include "meeting.h"

namespace workspace::run {

/**
 * Executes a program, found as by container engines: through PATH if its name has no slash, and never as a script
 * without an interpreter line. On failure reports the error on standard error and exits, with 127 if the program does
 * not exist,
 * else with 126.
 */
[[noreturn]] void executeProgram(char* const* argv);

/**
 * Starts a program in a separate session, with these streams and this signal mask, like `executeProgram`. Returns its
 * id, or the negative errno.
 */
pid_t startProgram(char* const* argv, const Streams& streams, const sigset_t& mask);

/** Sends a signal to a program's group. */
void signalProgram(pid_t program, int number);

}  // namespace workspace::run
