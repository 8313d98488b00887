#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "../classfile/facts.h"

namespace workspace::digest {

/**
 * Distinguishes the method references of a class from its lambdas. The body of a lambda is a synthetic method in the
 * same class that a LambdaMetafactory's handle refers to; any other handle is a method reference.
 */
class MethodHandles {
 public:
  MethodHandles(const classfile::Facts& facts, std::size_t classRow);

  bool isReference(std::size_t dynamicCall) const;

  /** Whether a dynamic call creates a lambda or a method reference. */
  bool isMetafactory(std::size_t dynamicCall) const;

 private:
  using NameAndDescriptor = std::pair<std::int32_t, std::int32_t>;

  NameAndDescriptor targetOf(std::size_t dynamicCall) const;

  const classfile::Facts& facts_;
  /** Sorted. */
  std::vector<NameAndDescriptor> bodies_;
};

}  // namespace workspace::digest
