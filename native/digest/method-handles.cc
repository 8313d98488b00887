#include "method-handles.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace workspace::digest {

namespace {

constexpr std::uint16_t synthetic = 0x1000;

std::size_t at(const classfile::I32& first, std::size_t row) { return static_cast<std::size_t>(first[row]); }

}  // namespace

MethodHandles::MethodHandles(const classfile::Facts& facts, std::size_t classRow) : facts_(facts) {
  const auto& [classes, methods] = std::tie(facts.classes, facts.methods);
  const std::size_t first = at(classes.firstMethod, classRow);
  const std::size_t end = at(classes.firstMethod, classRow + 1);
  std::map<NameAndDescriptor, std::size_t> made;
  for (std::size_t method = first; method < end; method++) {
    if ((methods.accessFlags[method] & synthetic) != 0) made[{methods.name[method], methods.descriptor[method]}] = method;
  }
  for (std::size_t method = first; method < end; method++) {
    for (std::size_t call = at(methods.firstDynamicCall, method); call < at(methods.firstDynamicCall, method + 1); call++) {
      if (facts.dynamicCalls.handleOwner[call] != classes.name[classRow] || !isMetafactory(call)) continue;
      const auto body = made.find(targetOf(call));
      if (body != made.end() && body->second != method) bodies_.push_back(body->first);
    }
  }
  std::sort(bodies_.begin(), bodies_.end());
}

bool MethodHandles::isReference(std::size_t dynamicCall) const {
  if (facts_.dynamicCalls.handleOwner[dynamicCall] < 0 || !isMetafactory(dynamicCall)) return false;
  return !std::binary_search(bodies_.begin(), bodies_.end(), targetOf(dynamicCall));
}

bool MethodHandles::isMetafactory(std::size_t dynamicCall) const {
  const std::int32_t owner = facts_.dynamicCalls.bootstrapOwner[dynamicCall];
  return owner >= 0 && facts_.strings.at(owner) == "java/lang/invoke/LambdaMetafactory";
}

MethodHandles::NameAndDescriptor MethodHandles::targetOf(std::size_t dynamicCall) const {
  return {facts_.dynamicCalls.handleName[dynamicCall], facts_.dynamicCalls.handleDescriptor[dynamicCall]};
}

}  // namespace workspace::digest
