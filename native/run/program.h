#pragma once

#include <signal.h>
#include <sys/types.h>

#include "meeting.h"

namespace workspace::run {

/**
 * Starts a program in a session of its own, with these streams and this signal mask, found as the engine finds one: by
 * PATH when its name has no slash, and never as a script that does not name its interpreter. One that cannot be run says
 * so on its standard error and ends with 127 where there is none, else with 126. Returns its id, or the negative error
 * number.
 */
pid_t startProgram(char* const* argv, const Streams& streams, const sigset_t& mask);

/** Sends a signal to a program's group. */
void signalProgram(pid_t program, int number);

}  // namespace workspace::run
