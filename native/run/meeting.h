#pragma once

#include <array>
#include <string_view>

namespace workspace::run {

/** Descriptors for a program's standard input, output and error, in that order. */
using Streams = std::array<int, 3>;

/**
 * Connects to the Unix socket of that name in the directory of a file, and sends the word by which the server
 * identifies this process. Returns the connection, or the negative errno.
 */
int meetServer(const char* fileBeside, std::string_view name, std::string_view word);

/**
 * Waits for a program's streams; if there are only two, its input is `/dev/null`. Returns 0, or the negative errno
 * with nothing left open: ECONNRESET if the server sends none.
 */
int receiveStreams(int server, Streams& streams);

void closeStreams(const Streams& streams);

}  // namespace workspace::run
