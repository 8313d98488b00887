#include "constant-pool.h"

#include <array>
#include <initializer_list>
#include <string>

#include "modified-utf8.h"

namespace workspace::classfile {

namespace {

/** Size of each constant by tag, 0 for an unknown tag; a Utf8's own bytes are added. */
constexpr std::array<std::uint8_t, 256> bodyLengths = [] {
  std::array<std::uint8_t, 256> lengths{};
  const auto set = [&lengths](std::uint8_t length, std::initializer_list<Tag> tags) {
    for (const Tag tag : tags) lengths[static_cast<std::uint8_t>(tag)] = length;
  };
  set(2, {Tag::utf8, Tag::class_, Tag::string, Tag::methodType, Tag::module, Tag::package});
  set(3, {Tag::methodHandle});
  set(4, {Tag::integer, Tag::float_, Tag::fieldref, Tag::methodref, Tag::interfaceMethodref, Tag::nameAndType, Tag::dynamic, Tag::invokeDynamic});
  set(8, {Tag::long_, Tag::double_});
  return lengths;
}();

}  // namespace

void ConstantPool::read(Cursor& cursor) {
  file_ = cursor;
  const std::size_t start = cursor.offset();
  const std::uint16_t count = cursor.u2();
  if (count == 0) throw ClassFormatError(start, "constant_pool_count is 0");
  offsets_.assign(count, 0);
  tags_.assign(count, Tag::none);
  ids_.assign(count, -1);
  attributeKinds_.assign(count, AttributeKind::notAsked);
  for (std::uint16_t index = 1; index < count; index++) {
    const std::size_t at = cursor.offset();
    const auto tag = static_cast<Tag>(cursor.u1());
    const std::size_t length = bodyLengths[static_cast<std::uint8_t>(tag)];
    if (length == 0) {
      throw ClassFormatError(at, "constant " + std::to_string(index) + " has the unknown tag " + std::to_string(static_cast<int>(tag)));
    }
    tags_[index] = tag;
    offsets_[index] = static_cast<std::uint32_t>(cursor.offset());
    cursor.skip(tag == Tag::utf8 ? cursor.u2() : length);
    // JVMS §4.4.5: 8-byte constants take two indices.
    if (length == 8) {
      if (index + 1 >= count) throw ClassFormatError(at, "constant " + std::to_string(index) + " needs two indices, only one is left");
      index++;
    }
  }
}

Cursor ConstantPool::entry(std::uint16_t index, Tag wanted, const char* expected) const {
  if (tag(index) != wanted) fail(index, expected);
  return file_.from(offsets_[index]);
}

void ConstantPool::fail(std::uint16_t index, const char* expected) const {
  const std::size_t at = index < offsets_.size() ? offsets_[index] : file_.offset();
  throw ClassFormatError(at, "constant " + std::to_string(index) + " is not a valid " + expected + ", its tag is " +
                      std::to_string(static_cast<int>(tag(index))));
}

std::int32_t ConstantPool::utf8(std::uint16_t index) {
  if (tag(index) != Tag::utf8) fail(index, "Utf8");
  std::int32_t& id = ids_[index];
  if (id >= 0) return id;
  Cursor cursor = file_.from(offsets_[index]);
  const std::uint16_t length = cursor.u2();
  const std::size_t start = cursor.offset();
  const std::span<const std::uint8_t> bytes = cursor.bytes(length);
  const auto [hash, isAscii] = hashOf(bytes);
  if (isAscii) {
    id = strings_.intern(bytes, hash);
  } else {
    utf8Buffer_.clear();
    if (const auto bad = appendUtf8(bytes, utf8Buffer_)) {
      throw ClassFormatError(start + *bad, "constant " + std::to_string(index) + " is not valid modified UTF-8");
    }
    id = strings_.intern(utf8Buffer_);
  }
  return id;
}

std::int32_t ConstantPool::named(std::uint16_t index, Tag wanted) {
  if (tag(index) != wanted) {
    fail(index, wanted == Tag::class_ ? "Class" : wanted == Tag::string ? "String" : wanted == Tag::methodType ? "MethodType"
                : wanted == Tag::module ? "Module" : "Package");
  }
  std::int32_t& id = ids_[index];
  if (id < 0) {
    Cursor cursor = file_.from(offsets_[index]);
    id = utf8(cursor.u2());
  }
  return id;
}

std::pair<std::int32_t, std::int32_t> ConstantPool::nameAndType(std::uint16_t index) {
  Cursor cursor = entry(index, Tag::nameAndType, "NameAndType");
  const std::int32_t name = utf8(cursor.u2());
  return {name, utf8(cursor.u2())};
}

MemberRef ConstantPool::member(std::uint16_t index) {
  const Tag found = tag(index);
  if (found != Tag::fieldref && found != Tag::methodref && found != Tag::interfaceMethodref) fail(index, "field or method");
  Cursor cursor = file_.from(offsets_[index]);
  const std::int32_t owner = className(cursor.u2());
  const auto [name, descriptor] = nameAndType(cursor.u2());
  return {owner, name, descriptor, found == Tag::interfaceMethodref};
}

DynamicRef ConstantPool::dynamic(std::uint16_t index) {
  const Tag found = tag(index);
  if (found != Tag::invokeDynamic && found != Tag::dynamic) fail(index, "InvokeDynamic or Dynamic");
  Cursor cursor = file_.from(offsets_[index]);
  const std::uint16_t bootstrapMethod = cursor.u2();
  const auto [name, descriptor] = nameAndType(cursor.u2());
  return {bootstrapMethod, name, descriptor};
}

MethodHandle ConstantPool::methodHandle(std::uint16_t index) {
  Cursor cursor = entry(index, Tag::methodHandle, "MethodHandle");
  const std::size_t at = cursor.offset();
  const std::uint8_t kind = cursor.u1();
  if (kind < 1 || kind > 9) throw ClassFormatError(at, "reference_kind is " + std::to_string(kind) + ", not 1 to 9");
  return {kind, member(cursor.u2())};
}

std::int32_t ConstantPool::firstWord(std::uint16_t index) const {
  const Tag found = tag(index);
  if (found != Tag::integer && found != Tag::float_ && found != Tag::long_ && found != Tag::double_) fail(index, "number");
  return file_.from(offsets_[index]).s4();
}

std::int32_t ConstantPool::secondWord(std::uint16_t index) const {
  const Tag found = tag(index);
  if (found != Tag::long_ && found != Tag::double_) fail(index, "Long or Double");
  Cursor cursor = file_.from(offsets_[index]);
  cursor.skip(4);
  return cursor.s4();
}

AttributeKind ConstantPool::attributeKind(std::uint16_t index) {
  if (tag(index) != Tag::utf8) fail(index, "Utf8");
  AttributeKind& kind = attributeKinds_[index];
  if (kind == AttributeKind::notAsked) {
    Cursor cursor = file_.from(offsets_[index]);
    const std::uint16_t length = cursor.u2();
    const std::span<const std::uint8_t> bytes = cursor.bytes(length);
    kind = attributeKindOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  return kind;
}

}  // namespace workspace::classfile
