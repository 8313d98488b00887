#pragma once

namespace workspace::confine {

/**
 * Installs a filter of system calls for a process that reads hostile bytes: no sockets, programs or processes except
 * threads, no signals to others, no changes of owners, modes or times, and no access to other processes or the
 * kernel. Only the program whose path is at exactly the address `program` may be executed. Returns 0 or the errno.
 */
int installCallFilter(const char* program);

}  // namespace workspace::confine
