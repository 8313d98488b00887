#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "class-format-error.h"
#include "constant-pool.h"
#include "descriptor-table.h"
#include "facts.h"

namespace workspace::classfile {

/** Attributes of the current class that cannot be read, though a JVM loads the class. */
struct LeftOut {
  std::optional<ClassFormatError> first;
  std::size_t count = 0;

  void add(const ClassFormatError& error) {
    if (count++ == 0) first = error;
  }
};

/** State shared by the readers of a slice. `pool` is that of the current class. */
struct Slice {
  Facts facts;
  ConstantPool pool{facts.strings};
  DescriptorTable descriptors{facts.strings};
  LeftOut leftOut;

  Slice() = default;
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  /** Removes all classes, keeping the memory for the next slice. */
  void clear() {
    facts.clear();
    descriptors.clear();
    seen_.clear();
  }

  /** Starts the set of classes that a class refers to, excluding itself. */
  void startReferences(std::int32_t self) {
    serial_++;
    noteSeen(self);
  }

  /** Adds a class name that is not an array's. */
  void addReference(std::int32_t name) {
    if (noteSeen(name)) facts.references.name.push_back(name);
  }

  void addReferences(const Descriptor& descriptor) {
    for (const std::int32_t name : descriptors.classes(descriptor)) addReference(name);
  }

  /** Returns a field's or method's descriptor, checked, and records its classes. */
  Descriptor require(std::int32_t descriptor, bool isMethod, std::size_t offset) {
    const Descriptor found = descriptors.of(descriptor);
    if (!found.isValid || found.isMethod != isMethod) malformed(isMethod, offset);
    return found;
  }

 private:
  [[noreturn, gnu::noinline, gnu::cold]] static void malformed(bool isMethod, std::size_t offset) {
    throw ClassFormatError(offset, std::string("a ") + (isMethod ? "method" : "field") + " has a malformed descriptor");
  }

  bool noteSeen(std::int32_t name) {
    const auto index = static_cast<std::size_t>(name);
    if (index >= seen_.size()) seen_.resize(facts.strings.size() + facts.strings.size() / 2, 0);
    if (seen_[index] == serial_) return false;
    seen_[index] = serial_;
    return true;
  }

  std::uint32_t serial_ = 0;
  /** Last class that referred to a name, by string id. */
  std::vector<std::uint32_t> seen_;
};

}  // namespace workspace::classfile
