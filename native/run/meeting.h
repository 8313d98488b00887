#pragma once

#include <array>
#include <string_view>

namespace workspace::run {

/** Descriptors for a program's standard input, output and error, in that order. */
using Streams = std::array<int, 3>;

/**
 * Meets the server at the Unix socket of that name in the directory that the path of a file in it names, and says the word by which
 * it knows whom it meets. Returns the connection, or the negative error number.
 */
int meetServer(const char* fileBeside, std::string_view name, std::string_view word);

/**
 * Waits for a program's streams; `/dev/null` is the input of a program that gets two. Returns 0, or the negative error number with
 * nothing left open: ECONNRESET when the server gives none.
 */
int receiveStreams(int server, Streams& streams);

void closeStreams(const Streams& streams);

}  // namespace workspace::run
