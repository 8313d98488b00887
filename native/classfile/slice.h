#pragma once

#include <cstdint>
#include <vector>

#include "constant-pool.h"
#include "descriptor-table.h"
#include "facts.h"

namespace workspace::classfile {

/** What the readers of one slice share. `pool` is that of the class being read. */
struct Slice {
  Facts facts;
  ConstantPool pool{facts.strings};
  DescriptorTable descriptors{facts.strings};

  Slice() = default;
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;

  /** Forgets all classes and keeps the memory, which then need not be asked for again. */
  void clear() {
    facts.clear();
    descriptors.clear();
    seen_.clear();
  }

  /** Starts the set of classes that a class refers to; its own name is not in it. */
  void startReferences(std::int32_t self) {
    serial_++;
    noteSeen(self);
  }

  /** A class name, not an array's. */
  void addReference(std::int32_t name) {
    if (noteSeen(name)) facts.references.name.push_back(name);
  }

  void addReferences(const Descriptor& descriptor) {
    for (const std::int32_t name : descriptors.classes(descriptor)) addReference(name);
  }

  /** A field's or method's descriptor, checked and its classes noted. */
  Descriptor require(std::int32_t descriptor, bool isMethod, std::size_t offset) {
    const Descriptor found = descriptors.of(descriptor);
    if (!found.isValid || found.isMethod != isMethod) malformed(isMethod, offset);
    return found;
  }

 private:
  [[noreturn, gnu::noinline, gnu::cold]] static void malformed(bool isMethod, std::size_t offset) {
    throw Fault(offset, std::string("a ") + (isMethod ? "method" : "field") + " has a malformed descriptor");
  }

  bool noteSeen(std::int32_t name) {
    const auto index = static_cast<std::size_t>(name);
    if (index >= seen_.size()) seen_.resize(facts.strings.size() + facts.strings.size() / 2, 0);
    if (seen_[index] == serial_) return false;
    seen_[index] = serial_;
    return true;
  }

  std::uint32_t serial_ = 0;
  /** By string id: the last class that referred to it. */
  std::vector<std::uint32_t> seen_;
};

}  // namespace workspace::classfile
