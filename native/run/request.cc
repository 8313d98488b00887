#include "request.h"

#include <algorithm>

namespace workspace::run {

bool parseRequest(std::span<char> bytes, std::size_t variables, std::vector<char*>& words, Request& request) {
  words.clear();
  if (bytes.empty() || bytes.back() != '\0') return false;
  for (auto next = bytes.begin(); next != bytes.end(); next = std::find(next, bytes.end(), '\0') + 1) words.push_back(&*next);
  if (words.size() <= variables) return false;
  words.push_back(nullptr);
  request.variables = std::span(words).first(variables);
  request.arguments = std::span(words).subspan(variables);
  return true;
}

}  // namespace workspace::run
