#include "digest-names.h"

#include <algorithm>

#include "type-names.h"

namespace workspace::digest {

namespace {

constexpr std::int32_t unread = -2;

std::size_t index(std::int32_t id) { return static_cast<std::size_t>(id); }

}  // namespace

DigestNames::DigestNames(const classfile::StringTable& texts, StringPool& pool)
    : texts_(texts),
      pool_(pool),
      ids_(texts.size(), unread),
      elements_(texts.size(), unread),
      returns_(texts.size(), unread),
      fields_(texts.size()),
      methods_(texts.size()) {}

std::int32_t DigestNames::idOf(std::int32_t id) {
  if (id < 0) return -1;
  std::int32_t& own = ids_[index(id)];
  if (own == unread) own = pool_.idOf(textOf(id));
  return own;
}

std::int32_t DigestNames::elementOf(std::int32_t id) {
  if (!isArray(id)) return idOf(id);
  std::int32_t& element = elements_[index(id)];
  if (element == unread) {
    const Types& types = fieldTypes(id);
    element = types.first == types.end ? -1 : types_[types.first];
  }
  return element;
}

std::span<const std::int32_t> DigestNames::typesOfField(std::int32_t descriptor, std::int32_t signature) {
  const std::int32_t text = signature >= 0 ? signature : descriptor;
  if (text < 0) return {};
  const Types& types = fieldTypes(text);
  return std::span(types_).subspan(types.first, types.end - types.first);
}

DigestNames::MethodTypes DigestNames::typesOfMethod(std::int32_t descriptor, std::int32_t signature) {
  const Types& erased = methodTypes(descriptor);
  const Types& full = signature < 0 ? erased : methodTypes(signature);
  const Types& parameters = full.parameterCount == erased.parameterCount ? full : erased;
  return {std::span(types_).subspan(parameters.first, parameters.returns - parameters.first),
          std::span(types_).subspan(full.returns, full.end - full.returns)};
}

std::int32_t DigestNames::returnOf(std::int32_t descriptor) {
  std::int32_t& type = returns_[index(descriptor)];
  if (type == unread) {
    const std::string_view text = textOf(descriptor);
    type = pool_.idOf(text.substr(text.rfind(')') + 1));
  }
  return type;
}

const DigestNames::Types& DigestNames::fieldTypes(std::int32_t id) {
  Types& types = fields_[index(id)];
  if (types.isRead) return types;
  types.isRead = true;
  types.first = types.returns = static_cast<std::uint32_t>(types_.size());
  readField(textOf(id), [&](std::string_view name) { addOnce(types.first, pool_.idOf(name)); });
  types.end = static_cast<std::uint32_t>(types_.size());
  return types;
}

const DigestNames::Types& DigestNames::methodTypes(std::int32_t id) {
  Types& types = methods_[index(id)];
  if (types.isRead) return types;
  types.isRead = true;
  types.first = types.returns = static_cast<std::uint32_t>(types_.size());
  int place = 0;
  std::uint32_t from = types.first;
  types.parameterCount = readMethod(textOf(id), [&](int at, std::string_view name) {
    const std::int32_t type = pool_.idOf(name);
    if (at != place) {
      place = at;
      from = static_cast<std::uint32_t>(types_.size());
      if (at == returned) types.returns = from;
    }
    addOnce(from, type);
  });
  types.end = static_cast<std::uint32_t>(types_.size());
  if (place != returned) types.returns = types.end;
  return types;
}

void DigestNames::addOnce(std::uint32_t from, std::int32_t type) {
  if (std::find(types_.begin() + from, types_.end(), type) == types_.end()) types_.push_back(type);
}

}  // namespace workspace::digest
