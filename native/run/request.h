#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace workspace::run {

/** A program to start: variables to set in its environment, and its arguments, starting with its name. */
struct Request {
  std::span<char*> variables = {};
  /** Ends with a null pointer, as execve requires. */
  std::span<char*> arguments = {};
};

/**
 * Reads a request from strings that end with a zero byte: first the given number of variables as `NAME=VALUE`, then
 * the arguments. `words` receives pointers into `bytes`. Returns false if it has no arguments, or ends within a
 * string.
 */
bool parseRequest(std::span<char> bytes, std::size_t variables, std::vector<char*>& words, Request& request);

}  // namespace workspace::run
