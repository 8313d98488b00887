#pragma once

#include <array>
#include <string_view>

namespace workspace::run {

/** Descriptors for a program's standard input, output and error, in that order. */
using Streams = std::array<int, 3>;

/**
 * Meets the server at the Unix socket of that name in the directory that the path of a file in it names: says the word by
 * which it knows whom it meets, and waits for a program's streams; `/dev/null` is the input of a program that gets two. Returns
 * the connection, or the negative error number with nothing left open: ECONNRESET when the server gives none.
 */
int meetServer(const char* fileBeside, std::string_view name, std::string_view word, Streams& streams);

void closeStreams(const Streams& streams);

}  // namespace workspace::run
