#include "unfinished-line.h"

#include <algorithm>

namespace workspace::log {

namespace {

constexpr char ESCAPE = '\x1b';
constexpr char BELL = '\a';

bool isBetween(char byte, char first, char last) { return byte >= first && byte <= last; }

/** Returns the length of a UTF-8 character by its first byte, and 1 for a byte that cannot begin one. */
std::size_t characterSize(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte < 0xc2 || byte > 0xf4) return 1;
  return byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
}

/** Returns the length of the control sequence at the beginning of a text, or more than the text has if it is incomplete. */
std::size_t sequenceSize(std::string_view text) {
  const std::size_t incomplete = text.size() + 1;
  if (text.size() < 2) return incomplete;
  std::size_t at = 2;
  if (text[1] == '[') {
    while (at < text.size() && isBetween(text[at], ' ', '?')) at++;
    return at + 1;
  }
  if (std::string_view("]PX^_").find(text[1]) != std::string_view::npos) {
    for (; at < text.size(); at++) {
      if (text[at] == BELL) return at + 1;
      if (text[at] == ESCAPE) return at + 2;
    }
    return incomplete;
  }
  if (!isBetween(text[1], ' ', '/')) return 2;
  while (at < text.size() && isBetween(text[at], ' ', '/')) at++;
  return at + 1;
}

}  // namespace

std::string_view lastState(std::string_view line) {
  const std::size_t last = line.find_last_not_of('\r');
  if (last == std::string_view::npos) return {};
  const std::size_t before = line.rfind('\r', last);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return line.substr(begin, last + 1 - begin);
}

std::string lastStates(std::string_view lines) {
  std::string states;
  states.reserve(lines.size());
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    states.append(lastState(lines.substr(0, end))).push_back('\n');
    lines.remove_prefix(end + 1);
  }
  return states;
}

std::string_view shownState(std::string_view state) {
  bool isVisible = false;
  std::size_t at = 0;
  while (at < state.size()) {
    const bool isSequence = state[at] == ESCAPE;
    const std::size_t size = isSequence ? sequenceSize(state.substr(at)) : characterSize(state[at]);
    if (size > state.size() - at) break;
    isVisible |= !isSequence && state[at] != ' ' && state[at] != '\t';
    at += size;
  }
  return isVisible ? state.substr(0, at) : std::string_view();
}

}  // namespace workspace::log
