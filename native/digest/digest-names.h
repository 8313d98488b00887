#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "../classfile/facts.h"
#include "string-pool.h"

namespace workspace::digest {

/** The strings of a digest: those of a slice's facts that it needs, and the class names inside descriptors. -1 stays -1. */
class DigestNames {
 public:
  /** Ids of the types in a method's signature; valid until the next call. */
  struct MethodTypes {
    /** One parameter's after the other, each once in each. */
    std::span<const std::int32_t> parameters;
    std::span<const std::int32_t> returns;
  };

  DigestNames(const classfile::StringTable& texts, StringPool& pool);

  /** The digest's id of one of the facts' strings. */
  std::int32_t idOf(std::int32_t id);

  /** As `idOf` for a class name that may be an array's descriptor: its element class, or -1 for a primitive. */
  std::int32_t elementOf(std::int32_t id);

  /** Of a class name in code: that may be an array's descriptor. */
  bool isArray(std::int32_t id) const { return startsWith(id, '['); }

  /** "<init>", and not "<clinit>": other names have no "<" (JVMS §4.2.2). */
  bool isConstructor(std::int32_t id) const { return isSpecial(id) && textOf(id).size() == std::string_view("<init>").size(); }

  /** Constructors and static initializers (JVMS §4.2.2). */
  bool isSpecial(std::int32_t id) const { return startsWith(id, '<'); }

  /** The types in a field's descriptor and signature; valid until the next call. */
  std::span<const std::int32_t> typesOfField(std::int32_t descriptor, std::int32_t signature);

  /** The types in the bounds of a signature's type parameters; valid until the next call. */
  std::span<const std::int32_t> typesOfParameters(std::int32_t signature);

  /** The types in the type arguments of a class's supertypes; valid until the next call. */
  std::span<const std::int32_t> typesOfArguments(std::int32_t signature);

  /** From the descriptor and the signature, which leaves out parameters that the compiler added. */
  MethodTypes typesOfMethod(std::int32_t descriptor, std::int32_t signature);

  /** The return type in a method's descriptor, itself a descriptor. */
  std::int32_t returnOf(std::int32_t descriptor);

 private:
  /** Where in `types_` the types of a text are. */
  struct Types {
    bool isRead = false;
    std::uint32_t first = 0;
    std::uint32_t returns = 0;
    std::uint32_t end = 0;
  };

  std::string_view textOf(std::int32_t id) const { return texts_.at(id); }
  bool startsWith(std::int32_t id, char first) const { return id >= 0 && textOf(id).starts_with(first); }
  template <typename Read>
  std::span<const std::int32_t> typesRead(Read&& read);
  const Types& fieldTypes(std::int32_t id);
  const Types& methodTypes(std::int32_t descriptor);
  /** Adds a method's types, and returns where those that it returns begin. */
  std::uint32_t readTypes(std::vector<std::int32_t>& types, std::string_view descriptor, std::string_view signature);
  static void addOnce(std::vector<std::int32_t>& types, std::uint32_t from, std::int32_t type);

  const classfile::StringTable& texts_;
  StringPool& pool_;
  /** By the facts' ids; `unread` where nobody has asked. */
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> elements_;
  std::vector<std::int32_t> returns_;
  std::vector<Types> fields_;
  std::vector<Types> methods_;
  std::vector<std::int32_t> types_;
  /** Those of the last call that keeps none. */
  std::vector<std::int32_t> once_;
};

}  // namespace workspace::digest
