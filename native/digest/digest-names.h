#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "../classfile/facts.h"
#include "string-pool.h"

namespace workspace::digest {

/** Strings of a digest: those of a slice's facts that it needs, and the class names inside descriptors. -1 stays -1. */
class DigestNames {
 public:
  /** Type ids of a method's signature; valid until the next call. */
  struct MethodTypes {
    /** Types of all parameters, one parameter after the other, distinct within each. */
    std::span<const std::int32_t> parameters;
    std::span<const std::int32_t> returns;
  };

  DigestNames(const classfile::StringTable& texts, StringPool& pool);

  /** Returns the digest's id of a string of the facts. */
  std::int32_t idOf(std::int32_t id);

  /**
   * Returns the id of a class name that may be an array's descriptor: that of its element class, or -1 for a primitive.
   */
  std::int32_t elementOf(std::int32_t id);

  /** Returns the id of a class name in code, which may be an array's descriptor. */
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

  /** From the descriptor and the signature, which omits compiler-generated parameters. */
  MethodTypes typesOfMethod(std::int32_t descriptor, std::int32_t signature);

  /** Returns the return type of a method's descriptor, itself a descriptor. */
  std::int32_t returnOf(std::int32_t descriptor);

 private:
  /** Range in `types_` of a text's types. */
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
  /** Adds a method's types, and returns the start of its return types. */
  std::uint32_t readTypes(std::vector<std::int32_t>& types, std::string_view descriptor, std::string_view signature);
  static void addOnce(std::vector<std::int32_t>& types, std::uint32_t from, std::int32_t type);

  const classfile::StringTable& texts_;
  StringPool& pool_;
  /** By the facts' ids; `unread` if not looked up yet. */
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> elements_;
  std::vector<std::int32_t> returns_;
  std::vector<Types> fields_;
  std::vector<Types> methods_;
  std::vector<std::int32_t> types_;
  /** Types of the last call whose result is not cached. */
  std::vector<std::int32_t> once_;
};

}  // namespace workspace::digest
