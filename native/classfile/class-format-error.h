#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace workspace::classfile {

/** An error in a class file, with its byte offset. It ends the reading of that class only. */
class ClassFormatError : public std::runtime_error {
 public:
  ClassFormatError(std::size_t offset, const std::string& message) : std::runtime_error(message), offset_(offset) {}

  /** Byte offset in the class file. */
  std::size_t offset() const { return offset_; }

 private:
  std::size_t offset_;
};

}  // namespace workspace::classfile
