#pragma once

#include <string>
#include <string_view>

namespace workspace::vsock {

/**
 * Appends a text as JSON.stringify writes it, in quotes. Returns false if it is not valid UTF-8; the appended part is
 * then meaningless.
 *
 * @param isAscii becomes false if the text has other characters
 */
bool appendJsonText(std::string& json, std::string_view text, bool& isAscii);

}  // namespace workspace::vsock
