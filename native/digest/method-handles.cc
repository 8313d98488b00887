#include "method-handles.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "../classfile/access-flags.h"
#include "rows.h"

namespace workspace::digest {

MethodHandles::MethodHandles(const classfile::Facts& facts, std::size_t classRow) : facts_(facts) {
  const auto& [classes, methods] = std::tie(facts.classes, facts.methods);
  const Rows own(classes.firstMethod, classRow);
  std::map<NameAndDescriptor, std::size_t> made;
  for (std::size_t method = own.begin; method < own.end; method++) {
    if ((methods.accessFlags[method] & classfile::accSynthetic) != 0) made[{methods.name[method], methods.descriptor[method]}] = method;
  }
  for (std::size_t method = own.begin; method < own.end; method++) {
    const Rows calls(methods.firstDynamicCall, method);
    for (std::size_t call = calls.begin; call < calls.end; call++) {
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
