#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace workspace::classfile {

/** What is wrong with a class file, and at which of its bytes. One ends the reading of its class, and of no other. */
class Fault : public std::runtime_error {
 public:
  Fault(std::size_t offset, const std::string& message) : std::runtime_error(message), offset_(offset) {}

  /** In bytes from the start of the class file. */
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

}  // namespace workspace::classfile
