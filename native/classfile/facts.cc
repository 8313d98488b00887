#include "facts.h"

namespace workspace::classfile {

void Facts::clear() {
  strings.clear();
  columns([](const char*, auto& column) { column.clear(); });
}

void Facts::finish() {
  const auto end = [](I32& first, const auto& column) { first.push_back(static_cast<std::int32_t>(column.size())); };
  end(classes.firstInterface, interfaces.name);
  end(classes.firstPermittedSubclass, permittedSubclasses.name);
  end(classes.firstNestMember, nestMembers.name);
  end(classes.firstInnerClass, innerClasses.innerClass);
  end(classes.firstRecordComponent, recordComponents.name);
  end(classes.firstModuleDirective, moduleDirectives.kind);
  end(classes.firstField, fields.name);
  end(classes.firstMethod, methods.name);
  end(classes.firstReference, references.name);
  end(classes.firstAnnotation, annotations.type);
  end(methods.firstException, exceptions.name);
  end(methods.firstParameter, parameters.name);
  end(methods.firstCall, calls.owner);
  end(methods.firstFieldAccess, fieldAccesses.owner);
  end(methods.firstTypeReference, typeReferences.name);
  end(methods.firstDynamicCall, dynamicCalls.name);
  end(calls.firstArgument, arguments.index);
}

std::string factsLayout() {
  Facts facts;
  return packedLayout(facts);
}

void Mark::set(Facts& facts) {
  lengths_.clear();
  facts.columns([this](const char*, const auto& column) { lengths_.push_back(column.size()); });
}

void Mark::takeBack(Facts& facts) const {
  std::size_t at = 0;
  facts.columns([&](const char*, auto& column) { column.resize(lengths_[at++]); });
}

}  // namespace workspace::classfile
