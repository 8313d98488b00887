#pragma once

#include <string>
#include <string_view>

namespace workspace::log {

/** The line that a writer of a stream has begun. */
struct UnfinishedLine {
  /** With carriage returns: its last state, and one carriage return if that has ended. */
  std::string text;
  /** Whether carriage returns rewrite it. */
  bool isRewritten = false;
  /** The state that was taken as a line last. */
  std::string shown;
};

/** Returns a line as its carriage returns leave it: what the last of them that text follows has not overwritten. */
std::string_view lastState(std::string_view line);

/** Returns the last states of lines that each end with a newline. */
std::string lastStates(std::string_view lines);

/**
 * Returns a state without the beginning of a UTF-8 character or control sequence (ECMA-48) at its end. Returns nothing
 * for a state that a terminal does not show.
 */
std::string_view shownState(std::string_view state);

}  // namespace workspace::log
