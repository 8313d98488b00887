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
  if (descriptor < 0) return {};
  if (signature >= 0) {
    return typesRead([&](auto&& add) {
      readField(textOf(descriptor), add);
      readField(textOf(signature), add);
    });
  }
  const Types& types = fieldTypes(descriptor);
  return std::span(types_).subspan(types.first, types.end - types.first);
}

std::span<const std::int32_t> DigestNames::typesOfParameters(std::int32_t signature) {
  return typesRead([&](auto&& add) { readTypeParameters(textOf(signature), add); });
}

std::span<const std::int32_t> DigestNames::typesOfArguments(std::int32_t signature) {
  return typesRead([&](auto&& add) { readTypeArguments(textOf(signature), add); });
}

template <typename Read>
std::span<const std::int32_t> DigestNames::typesRead(Read&& read) {
  once_.clear();
  read([&](std::string_view name) { addOnce(once_, 0, pool_.idOf(name)); });
  return once_;
}

DigestNames::MethodTypes DigestNames::typesOfMethod(std::int32_t descriptor, std::int32_t signature) {
  if (signature >= 0) {
    once_.clear();
    const std::uint32_t returns = readTypes(once_, textOf(descriptor), textOf(signature));
    return {std::span(once_).first(returns), std::span(once_).subspan(returns)};
  }
  const Types& types = methodTypes(descriptor);
  return {std::span(types_).subspan(types.first, types.returns - types.first),
          std::span(types_).subspan(types.returns, types.end - types.returns)};
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
  readField(textOf(id), [&](std::string_view name) { addOnce(types_, types.first, pool_.idOf(name)); });
  types.end = static_cast<std::uint32_t>(types_.size());
  return types;
}

const DigestNames::Types& DigestNames::methodTypes(std::int32_t descriptor) {
  Types& types = methods_[index(descriptor)];
  if (types.isRead) return types;
  types.isRead = true;
  types.first = static_cast<std::uint32_t>(types_.size());
  types.returns = readTypes(types_, textOf(descriptor), std::string_view());
  types.end = static_cast<std::uint32_t>(types_.size());
  return types;
}

std::uint32_t DigestNames::readTypes(std::vector<std::int32_t>& types, std::string_view descriptor, std::string_view signature) {
  int place = 0;
  auto from = static_cast<std::uint32_t>(types.size());
  readMethod(descriptor, signature, [&](int at, std::string_view name) {
    if (at != place) {
      place = at;
      from = static_cast<std::uint32_t>(types.size());
    }
    addOnce(types, from, pool_.idOf(name));
  });
  return place == returned ? from : static_cast<std::uint32_t>(types.size());
}

void DigestNames::addOnce(std::vector<std::int32_t>& types, std::uint32_t from, std::int32_t type) {
  if (std::find(types.begin() + from, types.end(), type) == types.end()) types.push_back(type);
}

}  // namespace workspace::digest
