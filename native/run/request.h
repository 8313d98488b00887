#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace workspace::run {

/** A program to start: what is set in its environment, and its arguments, the program's own name first. */
struct Request {
  std::span<char*> variables = {};
  /** Ends with a null pointer, as execve wants it. */
  std::span<char*> arguments = {};
};

/**
 * Reads a request from strings that each end with a zero byte: first so many variables as `NAME=VALUE`, then the arguments. `words`
 * holds the pointers into `bytes` of which the request consists. Returns false when it has no arguments, or ends within a string.
 */
bool parseRequest(std::span<char> bytes, std::size_t variables, std::vector<char*>& words, Request& request);

}  // namespace workspace::run
