#include "descriptor-table.h"

namespace workspace::classfile {

namespace {

// JVMS §4.3.2 and §4.3.3.
constexpr std::size_t maxDimensions = 255;
constexpr unsigned maxParameterSlots = 255;

}  // namespace

void DescriptorTable::clear() {
  indexes_.clear();
  parsed_.resize(1);
  slots_.clear();
  classes_.clear();
}

int DescriptorTable::type(std::size_t& at) {
  std::size_t dimensions = 0;
  while (at < text_.size() && text_[at] == '[') {
    at++;
    dimensions++;
  }
  if (at >= text_.size() || dimensions > maxDimensions) return -1;
  const char first = text_[at++];
  switch (first) {
    case 'B':
    case 'C':
    case 'F':
    case 'I':
    case 'S':
    case 'Z':
      return 1;
    case 'D':
    case 'J':
      return dimensions > 0 ? 1 : 2;
    case 'V':
      return dimensions > 0 ? -1 : 0;
    case 'L': {
      const std::size_t end = text_.find(';', at);
      if (end == std::string::npos || end == at) return -1;
      classes_.push_back(strings_.intern(std::string_view(text_).substr(at, end - at)));
      at = end + 1;
      return 1;
    }
    default:
      return -1;
  }
}

void DescriptorTable::add(std::int32_t id) {
  // A copy, because interning a part of it may move the table's bytes.
  text_ = strings_.at(id);
  Descriptor found;
  found.firstParameter = static_cast<std::uint32_t>(slots_.size());
  found.firstClass = static_cast<std::uint32_t>(classes_.size());
  std::size_t at = 0;
  unsigned slots = 0;
  bool valid = true;
  found.isMethod = text_.starts_with('(');
  if (found.isMethod) {
    at = 1;
    while (valid && at < text_.size() && text_[at] != ')') {
      const int each = type(at);
      slots += each > 0 ? static_cast<unsigned>(each) : 0;
      valid = each > 0 && slots <= maxParameterSlots;
      if (valid) slots_.push_back(static_cast<std::uint8_t>(each));
    }
    valid = valid && at < text_.size();
    at++;
  }
  const int result = valid ? type(at) : -1;
  found.isValid = result >= (found.isMethod ? 0 : 1) && at == text_.size();
  if (found.isValid) {
    found.parameterSlots = static_cast<std::uint16_t>(slots);
    found.parameterCount = static_cast<std::uint8_t>(slots_.size() - found.firstParameter);
    found.resultSlots = static_cast<std::uint8_t>(result);
    found.classCount = static_cast<std::uint32_t>(classes_.size() - found.firstClass);
  }
  indexes_[static_cast<std::size_t>(id)] = static_cast<std::uint32_t>(parsed_.size());
  parsed_.push_back(found);
}

}  // namespace workspace::classfile
