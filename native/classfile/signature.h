#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace workspace::classfile {

/**
 * The class names in a signature (JVMS §4.7.9.1), type arguments and bounds among them; an inner class has its binary name,
 * "java/util/Map$Entry". The JVM never checks signatures: one that is malformed or nested deeper than 64 gives what was
 * found until there.
 */
std::vector<std::string> classesOfSignature(std::string_view signature);

}  // namespace workspace::classfile
