#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace workspace::classfile {

/**
 * Returns the class names in a signature (JVMS §4.7.9.1), including type arguments and bounds; an inner class has its
 * binary name, "java/util/Map$Entry". The JVM never checks signatures: of one that is malformed or nested deeper than
 * 64, returns the names found so far.
 */
std::vector<std::string> classesOfSignature(std::string_view signature);

}  // namespace workspace::classfile
