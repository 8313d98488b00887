#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attribute-kind.h"
#include "cursor.h"
#include "string-table.h"

namespace workspace::classfile {

/** Tags of JVMS §4.4. */
enum class Tag : std::uint8_t {
  none = 0,
  utf8 = 1,
  integer = 3,
  float_ = 4,
  long_ = 5,
  double_ = 6,
  class_ = 7,
  string = 8,
  fieldref = 9,
  methodref = 10,
  interfaceMethodref = 11,
  nameAndType = 12,
  methodHandle = 15,
  methodType = 16,
  dynamic = 17,
  invokeDynamic = 18,
  module = 19,
  package = 20,
};

/** A CONSTANT_Fieldref, Methodref or InterfaceMethodref; string ids. */
struct MemberRef {
  std::int32_t owner;
  std::int32_t name;
  std::int32_t descriptor;
  bool isInterface;
};

/** A CONSTANT_InvokeDynamic or Dynamic; string ids. */
struct DynamicRef {
  std::uint16_t bootstrapMethod;
  std::int32_t name;
  std::int32_t descriptor;
};

/** A CONSTANT_MethodHandle: kinds 1 to 9 of JVMS §4.4.8. */
struct MethodHandle {
  std::uint8_t kind;
  MemberRef member;
};

/**
 * Constant pool of one class file at a time. `read` records an offset and a tag for each entry; entries are decoded on
 * demand, and strings are interned on first use.
 */
class ConstantPool {
 public:
  explicit ConstantPool(StringTable& strings) : strings_(strings) {}

  /** Reads constant_pool_count and the entries, and advances the cursor past them. */
  void read(Cursor& cursor);

  std::size_t count() const { return tags_.size(); }
  /** Returns `none` for an index without entry: 0, the second index of a long or double, and beyond the end. */
  Tag tag(std::size_t index) const { return index < tags_.size() ? tags_[index] : Tag::none; }

  std::int32_t utf8(std::uint16_t index);
  /** Returns -1 for index 0, which means "none". */
  std::int32_t utf8OrNone(std::uint16_t index) { return index == 0 ? -1 : utf8(index); }

  /** Returns the name of a CONSTANT_Class: internal ("java/lang/String") or an array's descriptor. */
  std::int32_t className(std::uint16_t index) { return named(index, Tag::class_); }
  std::int32_t classNameOrNone(std::uint16_t index) { return index == 0 ? -1 : className(index); }
  std::int32_t string(std::uint16_t index) { return named(index, Tag::string); }
  std::int32_t moduleName(std::uint16_t index) { return named(index, Tag::module); }
  std::int32_t packageName(std::uint16_t index) { return named(index, Tag::package); }
  std::int32_t methodType(std::uint16_t index) { return named(index, Tag::methodType); }

  MemberRef member(std::uint16_t index);
  DynamicRef dynamic(std::uint16_t index);
  MethodHandle methodHandle(std::uint16_t index);
  /** Returns name and descriptor. */
  std::pair<std::int32_t, std::int32_t> nameAndType(std::uint16_t index);

  /** Returns the bits of a CONSTANT_Integer or Float, or the high half of a Long or Double. */
  std::int32_t firstWord(std::uint16_t index) const;
  /** Returns the low half of a Long or Double. */
  std::int32_t secondWord(std::uint16_t index) const;

  /** Returns the attribute that a Utf8 names; compared once per class. */
  AttributeKind attributeKind(std::uint16_t index);

  [[noreturn]] void fail(std::uint16_t index, const char* expected) const;

 private:
  Cursor entry(std::uint16_t index, Tag tag, const char* expected) const;
  std::int32_t named(std::uint16_t index, Tag tag);

  StringTable& strings_;
  Cursor file_{std::span<const std::uint8_t>()};
  std::vector<std::uint32_t> offsets_;
  std::vector<Tag> tags_;
  /** Id of a Utf8, or of an entry with only a name; -1 if not yet read. */
  std::vector<std::int32_t> ids_;
  std::vector<AttributeKind> attributeKinds_;
  std::vector<std::uint8_t> utf8Buffer_;
};

}  // namespace workspace::classfile
