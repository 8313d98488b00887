#pragma once

#include <array>
#include <string_view>

namespace workspace::run {

/** Descriptors for a program's standard input, output and error, in that order. */
using Streams = std::array<int, 3>;

/**
 * Opens the FIFOs `ID.in`, `ID.out` and `ID.err` in the directory that the path of a file in it names; `/dev/null` in
 * place of the first where there is no input. Returns 0, or the error number, with nothing left open.
 */
int openStreams(const char* fileBeside, std::string_view id, bool hasInput, Streams& streams);

void closeStreams(const Streams& streams);

}  // namespace workspace::run
