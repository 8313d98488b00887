#pragma once

#include <string>
#include <string_view>

namespace workspace::vsock {

/**
 * Appends a text as JSON.stringify writes it, in quotes. False when it is no valid UTF-8; what was appended is then void.
 *
 * @param isAscii becomes false when there is more than ASCII in it
 */
bool appendJsonText(std::string& json, std::string_view text, bool& isAscii);

}  // namespace workspace::vsock
