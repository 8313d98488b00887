#pragma once

#include <cstdint>

namespace workspace::classfile {

/** Access flags, JVMS tables 4.1-B, 4.5-A and 4.6-A. */
constexpr std::uint16_t accSynthetic = 0x1000;

}  // namespace workspace::classfile
