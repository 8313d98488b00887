#pragma once

namespace workspace::confine {

/**
 * Installs a filter of system calls for a process that reads hostile bytes: no sockets, no programs, no processes but threads, no signals to others, no change
 * of owners, modes or times, nothing that reaches into other processes or the kernel. The one program that it may still become is the one whose
 * path is at exactly `program` in memory. Returns 0, or the number of the system's error.
 */
int installCallFilter(const char* program);

}  // namespace workspace::confine
