#include "facts.h"

#include <cstring>

namespace workspace::classfile {

namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

const char* typeOf(const I32&) { return "i32"; }
const char* typeOf(const U16&) { return "u16"; }
const char* typeOf(const U8&) { return "u8"; }

template <typename Column>
std::size_t bytesOf(const Column& column) {
  return column.size() * sizeof(typename Column::value_type);
}

}  // namespace

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

std::size_t Facts::packedBytes() {
  std::size_t count = 2;
  std::size_t bytes = aligned(bytesOf(strings.bytes())) + aligned(bytesOf(strings.offsets()));
  columns([&](const char*, const auto& column) {
    count++;
    bytes += aligned(bytesOf(column));
  });
  return aligned((1 + 2 * count) * sizeof(std::uint32_t)) + bytes;
}

void Facts::pack(std::uint8_t* buffer) {
  std::uint32_t count = 2;
  columns([&](const char*, const auto&) { count++; });
  std::size_t header = 0;
  std::size_t body = aligned((1 + 2 * std::size_t{count}) * sizeof(std::uint32_t));
  const auto word = [&](std::size_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    std::memcpy(buffer + header, &narrow, sizeof narrow);
    header += sizeof narrow;
  };
  const auto add = [&](const auto& column) {
    word(body);
    word(column.size());
    const std::size_t bytes = bytesOf(column);
    if (bytes > 0) std::memcpy(buffer + body, column.data(), bytes);
    std::memset(buffer + body + bytes, 0, aligned(bytes) - bytes);
    body += aligned(bytes);
  };
  word(count);
  add(strings.bytes());
  add(strings.offsets());
  columns([&](const char*, const auto& column) { add(column); });
  // The header holds an odd number of words.
  if (header % 8 != 0) word(0);
}

std::string factsLayout() {
  Facts facts;
  std::string layout = "strings.bytes:u8 strings.offsets:i32";
  facts.columns([&](const char* name, const auto& column) { layout += std::string(" ") + name + ":" + typeOf(column); });
  return layout;
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
