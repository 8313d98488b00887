#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "string-table.h"

namespace workspace::classfile {

/** A parsed field or method descriptor (JVMS §4.3). */
struct Descriptor {
  bool isValid = false;
  bool isMethod = false;
  /** Stack slots of all parameters, without the receiver; 0 for a field. */
  std::uint16_t parameterSlots = 0;
  /** Slots of the return value, or of the field's value: 0, 1 or 2. */
  std::uint8_t resultSlots = 0;
  std::uint8_t parameterCount = 0;
  std::uint32_t firstParameter = 0;
  std::uint32_t firstClass = 0;
  std::uint32_t classCount = 0;
};

/** Parses each distinct descriptor of a string table once. */
class DescriptorTable {
 public:
  explicit DescriptorTable(StringTable& strings) : strings_(strings) {}

  /** Must be called whenever the strings are cleared. */
  void clear();

  /** Returns the descriptor with a string id; a malformed one is not valid, and empty. */
  Descriptor of(std::int32_t id) {
    const auto index = static_cast<std::size_t>(id);
    if (index >= indexes_.size()) indexes_.resize(strings_.size() + strings_.size() / 2, 0);
    if (indexes_[index] == 0) add(id);
    return parsed_[indexes_[index]];
  }

  /** Slots of each parameter: 1 or 2. */
  std::span<const std::uint8_t> parameters(const Descriptor& descriptor) const {
    return {slots_.data() + descriptor.firstParameter, descriptor.parameterCount};
  }

  /** Returns the names of the classes in a descriptor, including the elements of arrays. */
  std::span<const std::int32_t> classes(const Descriptor& descriptor) const {
    return {classes_.data() + descriptor.firstClass, descriptor.classCount};
  }

 private:
  void add(std::int32_t id);
  /** Returns the slots of the type at `at`, and advances past it; 0 for "V", -1 without a type. */
  int type(std::size_t& at);

  StringTable& strings_;
  /** Index in `parsed_` by string id; 0 if not parsed yet. */
  std::vector<std::uint32_t> indexes_;
  std::vector<Descriptor> parsed_ = std::vector<Descriptor>(1);
  std::vector<std::uint8_t> slots_;
  std::vector<std::int32_t> classes_;
  std::string text_;
};

}  // namespace workspace::classfile
