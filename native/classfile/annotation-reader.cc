#include "annotation-reader.h"

#include "facts-columns.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

namespace workspace::classfile {

namespace {

/** Maximum nesting of annotations and arrays; javac's own limit for dimensions of arrays is 255, real files reach 3. */
constexpr int maxDepth = 64;
// JVMS §4.7.16.1: minimum size of an element_value, and with its name of an element_value_pair.
constexpr std::size_t leastValueBytes = 3;
constexpr std::size_t leastPairBytes = 5;

/** Values of target_type (JVMS tables 4.7.20-A and -B) with special handling. */
namespace position {
constexpr std::uint8_t field = 0x13;
constexpr std::uint8_t returned = 0x14;
constexpr std::uint8_t formalParameter = 0x16;
}  // namespace position

/** The steps of type_path by type_path_kind (JVMS table 4.7.20.2-A): array, nested, wildcard; the next is a type argument. */
constexpr std::string_view pathKinds = "[.*";

TargetKind typeKindOf(TargetKind kind) {
  switch (kind) {
    case TargetKind::class_:
      return TargetKind::classType;
    case TargetKind::field:
      return TargetKind::fieldType;
    case TargetKind::recordComponent:
      return TargetKind::recordComponentType;
    default:
      return TargetKind::methodType;
  }
}

/**
 * Returns the declaration's target kind for an annotation at a position of a type, if it applies to declarations too;
 * else the type's own kind.
 */
TargetKind declaredKind(TargetKind kind, std::uint8_t at) {
  if (kind == TargetKind::fieldType && at == position::field) return TargetKind::field;
  if (kind == TargetKind::methodType && at == position::returned) return TargetKind::method;
  if (kind == TargetKind::parameterType) return TargetKind::parameter;
  if (kind == TargetKind::recordComponentType && at == position::field) return TargetKind::recordComponent;
  return kind;
}

class AnnotationReader {
 public:
  AnnotationReader(Slice& slice, Cursor cursor) : slice_(slice), facts_(slice.facts), cursor_(cursor) {}

  void annotations(AnnotationTarget target, bool isVisible, std::int32_t parameter = -1, std::int32_t parameterCount = 0) {
    for (std::uint16_t left = cursor_.u2(); left > 0; left--) {
      const std::size_t row = add(target, isVisible);
      facts_.annotations.parameter[row] = parameter;
      facts_.annotations.parameterCount[row] = parameterCount;
      annotation(row, isVisible, 0);
    }
  }

  void parameters(std::int32_t method, bool isVisible) {
    const std::uint8_t count = cursor_.u1();
    for (std::uint8_t i = 0; i < count; i++) annotations({TargetKind::parameter, method}, isVisible, i, count);
  }

  void typeAnnotations(AnnotationTarget target, bool isVisible) {
    for (std::uint16_t left = cursor_.u2(); left > 0; left--) {
      const Position position = readPosition();
      const bool isParameter = target.kind == TargetKind::method && position.type == position::formalParameter;
      const std::size_t row = add({isParameter ? TargetKind::parameterType : typeKindOf(target.kind), target.row}, isVisible);
      facts_.annotations.position[row] = position.type;
      facts_.annotations.parameter[row] = position.index;
      facts_.annotations.parameterCount[row] = position.bound;
      facts_.annotations.path[row] = readPath();
      annotation(row, isVisible, 0);
    }
  }

  void defaultValue(std::int32_t method) {
    const std::size_t row = add({TargetKind::annotationDefault, method}, true);
    const std::size_t element = reserve(1);
    facts_.annotations.elementStart[row] = static_cast<std::int32_t>(element);
    facts_.annotations.elementCount[row] = 1;
    value(element, static_cast<std::int32_t>(row), true, 0);
  }

 private:
  struct Position {
    std::uint8_t type;
    std::int32_t index = -1;
    std::int32_t bound = 0;
  };

  /** target_type and target_info, JVMS §4.7.20.1. */
  Position readPosition() {
    const std::size_t at = cursor_.offset();
    Position read{cursor_.u1()};
    switch (read.type) {
      case 0x00:
      case 0x01:
      case position::formalParameter:
        read.index = cursor_.u1();
        break;
      case 0x10: {
        const std::uint16_t supertype = cursor_.u2();
        read.index = supertype == 0xffff ? -1 : supertype;
        break;
      }
      case 0x11:
      case 0x12:
        read.index = cursor_.u1();
        read.bound = cursor_.u1();
        break;
      case position::field:
      case position::returned:
      case 0x15:
        break;
      case 0x17:
        read.index = cursor_.u2();
        break;
      case 0x40:
      case 0x41:
        cursor_.skip(std::size_t{6} * cursor_.u2());
        break;
      case 0x42:
      case 0x43:
      case 0x44:
      case 0x45:
      case 0x46:
        cursor_.skip(2);
        break;
      case 0x47:
      case 0x48:
      case 0x49:
      case 0x4a:
      case 0x4b:
        cursor_.skip(2);
        read.index = cursor_.u1();
        break;
      default:
        throw ClassFormatError(at, "an annotation has the unknown target type " + std::to_string(read.type));
    }
    return read;
  }

  /** type_path, JVMS §4.7.20.2; -1 for an empty one. */
  std::int32_t readPath() {
    std::string path;
    for (std::uint8_t left = cursor_.u1(); left > 0; left--) {
      const std::size_t at = cursor_.offset();
      const std::uint8_t kind = cursor_.u1();
      const std::uint8_t argument = cursor_.u1();
      if (kind > pathKinds.size()) throw ClassFormatError(at, "a type path has a step of the unknown kind " + std::to_string(kind));
      if (kind < pathKinds.size()) {
        path += pathKinds[kind];
      } else {
        path += std::to_string(argument) + ';';
      }
    }
    return path.empty() ? -1 : facts_.strings.intern(path);
  }

  std::size_t add(AnnotationTarget target, bool isVisible) {
    auto& table = facts_.annotations;
    table.targetKind.push_back(static_cast<std::uint8_t>(target.kind));
    table.target.push_back(target.row);
    table.parameter.push_back(-1);
    table.parameterCount.push_back(0);
    table.position.push_back(0);
    table.path.push_back(-1);
    table.type.push_back(-1);
    table.isVisible.push_back(isVisible ? 1 : 0);
    table.elementStart.push_back(0);
    table.elementCount.push_back(0);
    return table.type.size() - 1;
  }

  /** Reserves consecutive rows for the elements of one annotation or array; nested elements follow them. */
  std::size_t reserve(std::size_t count) {
    auto& table = facts_.elements;
    const std::size_t first = table.name.size();
    table.name.resize(first + count, -1);
    table.tag.resize(first + count, 0);
    table.value.resize(first + count, -1);
    table.high.resize(first + count, 0);
    return first;
  }

  void annotation(std::size_t row, bool isVisible, int depth) {
    const std::size_t at = cursor_.offset();
    const Descriptor type = slice_.require(slice_.pool.utf8(cursor_.u2()), false, at);
    const auto classes = slice_.descriptors.classes(type);
    if (classes.size() != 1) throw ClassFormatError(at, "an annotation's type is not a class");
    facts_.annotations.type[row] = classes[0];
    slice_.addReference(classes[0]);
    const std::uint16_t count = cursor_.u2();
    cursor_.requireEach(count, leastPairBytes);
    const std::size_t first = reserve(count);
    facts_.annotations.elementStart[row] = static_cast<std::int32_t>(first);
    facts_.annotations.elementCount[row] = count;
    for (std::size_t i = first; i < first + count; i++) {
      facts_.elements.name[i] = slice_.pool.utf8(cursor_.u2());
      value(i, static_cast<std::int32_t>(row), isVisible, depth);
    }
  }

  void value(std::size_t element, std::int32_t annotationRow, bool isVisible, int depth) {
    const std::size_t at = cursor_.offset();
    if (depth > maxDepth) throw ClassFormatError(at, "element values are nested deeper than " + std::to_string(maxDepth));
    const std::uint8_t tag = cursor_.u1();
    facts_.elements.tag[element] = tag;
    const auto set = [&](std::int32_t low, std::int32_t high) {
      facts_.elements.value[element] = low;
      facts_.elements.high[element] = high;
    };
    switch (tag) {
      case 'B':
      case 'C':
      case 'I':
      case 'S':
      case 'Z':
        set(number(Tag::integer), 0);
        break;
      case 'F':
        set(number(Tag::float_), 0);
        break;
      case 'D':
      case 'J': {
        const std::uint16_t index = cursor_.u2();
        if (slice_.pool.tag(index) != (tag == 'D' ? Tag::double_ : Tag::long_)) slice_.pool.fail(index, "number of that tag");
        set(slice_.pool.secondWord(index), slice_.pool.firstWord(index));
        break;
      }
      case 's':
        set(slice_.pool.utf8(cursor_.u2()), 0);
        break;
      case 'e': {
        const std::int32_t type = referred(cursor_.u2());
        set(slice_.pool.utf8(cursor_.u2()), type);
        break;
      }
      case 'c':
        set(referred(cursor_.u2()), 0);
        break;
      case '@': {
        const std::size_t row = add({TargetKind::annotation, annotationRow}, isVisible);
        set(static_cast<std::int32_t>(row), 0);
        annotation(row, isVisible, depth + 1);
        break;
      }
      case '[': {
        const std::uint16_t count = cursor_.u2();
        cursor_.requireEach(count, leastValueBytes);
        const std::size_t first = reserve(count);
        set(static_cast<std::int32_t>(first), count);
        for (std::size_t i = first; i < first + count; i++) value(i, annotationRow, isVisible, depth + 1);
        break;
      }
      default:
        throw ClassFormatError(at, "an element value has the unknown tag " + std::to_string(tag));
    }
  }

  std::int32_t number(Tag tag) {
    const std::uint16_t index = cursor_.u2();
    if (slice_.pool.tag(index) != tag) slice_.pool.fail(index, "number of that tag");
    return slice_.pool.firstWord(index);
  }

  /** Reads a descriptor in a Utf8; "V" means void.class, which is not a field descriptor. */
  std::int32_t referred(std::uint16_t index) {
    const std::int32_t id = slice_.pool.utf8(index);
    slice_.addReferences(slice_.descriptors.of(id));
    return id;
  }

  Slice& slice_;
  Facts& facts_;
  Cursor cursor_;
};

/** Reads an attribute, or leaves it out: a JVM loads the class nevertheless, and parses annotations when they are asked for. */
template <typename Read>
void readOrLeaveOut(Slice& slice, Cursor cursor, Read read) {
  // A crafted class has millions of them, and each error takes time.
  constexpr std::size_t mostErrors = 1000;
  if (slice.leftOut.count >= mostErrors) {
    slice.leftOut.count++;
    return;
  }
  Facts& facts = slice.facts;
  const std::size_t annotations = facts.annotations.type.size();
  const std::size_t elements = facts.elements.name.size();
  try {
    AnnotationReader reader(slice, cursor);
    read(reader);
  } catch (const ClassFormatError& error) {
    facts.columns([=](std::string_view name, auto& column) {
      if (name.starts_with("annotations.")) column.resize(annotations);
      if (name.starts_with("elements.")) column.resize(elements);
    });
    slice.leftOut.add(error);
  }
}

}  // namespace

void readAnnotations(Slice& slice, Cursor cursor, AnnotationTarget target, bool isVisible) {
  readOrLeaveOut(slice, cursor, [&](AnnotationReader& reader) { reader.annotations(target, isVisible); });
}

void readParameterAnnotations(Slice& slice, Cursor cursor, std::int32_t method, bool isVisible) {
  readOrLeaveOut(slice, cursor, [&](AnnotationReader& reader) { reader.parameters(method, isVisible); });
}

void readTypeAnnotations(Slice& slice, Cursor cursor, AnnotationTarget target, bool isVisible) {
  readOrLeaveOut(slice, cursor, [&](AnnotationReader& reader) { reader.typeAnnotations(target, isVisible); });
}

void markRepeatedOnTypes(Facts& facts, std::size_t first) {
  auto& table = facts.annotations;
  const auto isOnType = [](std::uint8_t kind) { return kind >= static_cast<std::uint8_t>(TargetKind::classType); };
  if (std::none_of(table.targetKind.begin() + static_cast<std::ptrdiff_t>(first), table.targetKind.end(), isOnType)) return;
  using AnnotationKey = std::tuple<std::int32_t, std::uint8_t, std::int32_t, std::int32_t>;
  std::set<AnnotationKey> declared;
  for (std::size_t row = first; row < table.type.size(); row++) {
    if (!isOnType(table.targetKind[row])) declared.emplace(table.type[row], table.targetKind[row], table.target[row], table.parameter[row]);
  }
  for (std::size_t row = first; row < table.type.size(); row++) {
    const auto kind = static_cast<TargetKind>(table.targetKind[row]);
    const TargetKind declaration = declaredKind(kind, table.position[row]);
    if (!isOnType(table.targetKind[row]) || declaration == kind) continue;
    // Inside another type, on an argument or a wildcard, it is a separate annotation.
    if (table.path[row] >= 0 && facts.strings.at(table.path[row]).find_first_of("*;") != std::string_view::npos) continue;
    if (declared.contains({table.type[row], static_cast<std::uint8_t>(declaration), table.target[row], table.parameter[row]})) {
      table.targetKind[row] = static_cast<std::uint8_t>(TargetKind::repeatedOnType);
    }
  }
}

void readAnnotationDefault(Slice& slice, Cursor cursor, std::int32_t method) {
  readOrLeaveOut(slice, cursor, [&](AnnotationReader& reader) { reader.defaultValue(method); });
}

}  // namespace workspace::classfile
