#include "class-reader.h"

#include <limits>

#include "signature.h"

namespace workspace::classfile {

namespace {

constexpr std::uint32_t magic = 0xCAFEBABE;
constexpr std::uint16_t oldestMajor = 45;
constexpr std::size_t maxFileBytes = std::numeric_limits<std::int32_t>::max();

template <typename Table>
std::int32_t rows(const Table& column) {
  return static_cast<std::int32_t>(column.size());
}

}  // namespace

void ClassReader::clear() {
  slice_.clear();
  diagnostics_.clear();
}

void ClassReader::read(std::span<const std::uint8_t> bytes, std::int32_t input, std::string_view expected) {
  mark_.set(slice_.facts);
  slice_.leftOut = {};
  try {
    if (bytes.size() > maxFileBytes) throw ClassFormatError(0, "the file is larger than 2 GiB");
    readClass(Cursor(bytes), input);
    const std::string_view name = slice_.facts.strings.at(slice_.facts.classes.name.back());
    if (!expected.empty() && name != expected) throw ClassFormatError(0, "its class is " + std::string(name) + ", which no JVM finds under this name");
    addLeftOut(input);
  } catch (const ClassFormatError& error) {
    mark_.takeBack(slice_.facts);
    addDiagnostic(input, error.offset(), error.what());
  }
}

void ClassReader::addLeftOut(std::int32_t input) {
  const auto& [first, count] = slice_.leftOut;
  if (!first.has_value()) return;
  const std::string more = count == 1 ? "" : ", and " + std::to_string(count - 1) + " more";
  addDiagnostic(input, first->offset(), std::string("an attribute is left out: ") + first->what() + more);
}

void ClassReader::readClass(Cursor file, std::int32_t input) {
  code_.startClass(file.remaining());
  if (file.u4() != magic) throw ClassFormatError(0, "the first four bytes are not CAFEBABE");
  const std::uint16_t minor = file.u2();
  const std::uint16_t major = file.u2();
  if (major < oldestMajor) throw ClassFormatError(6, "major_version is " + std::to_string(major) + ", below 45");
  ConstantPool& pool = slice_.pool;
  pool.read(file);
  addRow(input, minor, major);
  auto& classes = slice_.facts.classes;
  classes.accessFlags.back() = file.u2();
  const std::int32_t name = pool.className(file.u2());
  classes.name.back() = name;
  const std::uint16_t superClass = file.u2();
  classes.superName.back() = pool.classNameOrNone(superClass);
  slice_.startReferences(name);
  readInterfaces(file);
  addPoolReferences();

  // BootstrapMethods is at the end, and the code before it refers to it.
  Cursor ahead = file;
  for (int table = 0; table < 2; table++) {
    for (std::uint16_t members = ahead.u2(); members > 0; members--) {
      ahead.skip(6);
      for (std::uint16_t left = ahead.u2(); left > 0; left--) {
        ahead.skip(2);
        ahead.skip(ahead.u4());
      }
    }
  }
  findBootstrapMethods(ahead);
  readMembers(file, false);
  readMembers(file, true);
  readAttributes(file);
  markRepeatedOnTypes(slice_.facts, static_cast<std::size_t>(classes.firstAnnotation.back()));
  if (!file.atEnd()) throw ClassFormatError(file.offset(), std::to_string(file.remaining()) + " bytes follow the class");
}

void ClassReader::addRow(std::int32_t input, std::uint16_t minor, std::uint16_t major) {
  Facts& facts = slice_.facts;
  auto& classes = facts.classes;
  classes.input.push_back(input);
  classes.minorVersion.push_back(minor);
  classes.majorVersion.push_back(major);
  for (U16* column : {&classes.accessFlags, &classes.innerAccessFlags}) column->push_back(0);
  classes.traits.push_back(0);
  for (I32* column : {&classes.name, &classes.superName, &classes.signature, &classes.sourceFile, &classes.outerClass, &classes.innerName,
                      &classes.enclosingClass, &classes.enclosingMethod, &classes.enclosingDescriptor, &classes.nestHost}) {
    column->push_back(-1);
  }
  classes.firstInterface.push_back(rows(facts.interfaces.name));
  classes.firstPermittedSubclass.push_back(rows(facts.permittedSubclasses.name));
  classes.firstNestMember.push_back(rows(facts.nestMembers.name));
  classes.firstInnerClass.push_back(rows(facts.innerClasses.innerClass));
  classes.firstRecordComponent.push_back(rows(facts.recordComponents.name));
  classes.firstModuleDirective.push_back(rows(facts.moduleDirectives.kind));
  classes.firstField.push_back(rows(facts.fields.name));
  classes.firstMethod.push_back(rows(facts.methods.name));
  classes.firstReference.push_back(rows(facts.references.name));
  classes.firstAnnotation.push_back(rows(facts.annotations.type));
}

void ClassReader::readInterfaces(Cursor& file) {
  for (std::uint16_t left = file.u2(); left > 0; left--) slice_.facts.interfaces.name.push_back(slice_.pool.className(file.u2()));
}

void ClassReader::addPoolReferences() {
  ConstantPool& pool = slice_.pool;
  for (std::size_t i = 1; i < pool.count(); i++) {
    const auto index = static_cast<std::uint16_t>(i);
    switch (pool.tag(i)) {
      case Tag::class_: {
        const std::int32_t name = pool.className(index);
        const std::string_view text = slice_.facts.strings.at(name);
        if (text.starts_with('[')) {
          slice_.addReferences(slice_.descriptors.of(name));
        } else {
          slice_.addReference(name);
        }
        break;
      }
      case Tag::nameAndType:
        slice_.addReferences(slice_.descriptors.of(pool.nameAndType(index).second));
        break;
      case Tag::methodType:
        slice_.addReferences(slice_.descriptors.of(pool.methodType(index)));
        break;
      default:
        break;
    }
  }
}

void ClassReader::findBootstrapMethods(Cursor attributes) {
  bootstraps_.methods.clear();
  bootstraps_.arguments.clear();
  for (std::uint16_t left = attributes.u2(); left > 0; left--) {
    const AttributeKind kind = attributeKind(attributes.u2());
    Cursor body = attributes.window(attributes.u4());
    if (kind != AttributeKind::bootstrapMethods) continue;
    for (std::uint16_t methods = body.u2(); methods > 0; methods--) {
      BootstrapMethod method{body.u2(), 0, bootstraps_.arguments.size(), body.u2()};
      for (std::uint16_t left = method.argumentCount; left > 0; left--) {
        const std::uint16_t argument = body.u2();
        bootstraps_.arguments.push_back(argument);
        if (method.implementation == 0 && slice_.pool.tag(argument) == Tag::methodHandle) method.implementation = argument;
      }
      bootstraps_.methods.push_back(method);
    }
  }
}

AttributeKind ClassReader::attributeKind(std::uint16_t name) {
  const auto& classes = slice_.facts.classes;
  const AttributeKind kind = slice_.pool.attributeKind(name);
  return isDefinedIn(kind, classes.majorVersion.back(), classes.minorVersion.back()) ? kind : AttributeKind::other;
}

bool ClassReader::readAnnotationAttribute(AttributeKind kind, Cursor body, AnnotationTarget target) {
  if (kind == AttributeKind::runtimeVisibleTypeAnnotations || kind == AttributeKind::runtimeInvisibleTypeAnnotations) {
    readTypeAnnotations(slice_, body, target, kind == AttributeKind::runtimeVisibleTypeAnnotations);
    return true;
  }
  const bool isVisible = kind == AttributeKind::runtimeVisibleAnnotations;
  if (!isVisible && kind != AttributeKind::runtimeInvisibleAnnotations) return false;
  readAnnotations(slice_, body, target, isVisible);
  return true;
}

std::int32_t ClassReader::readSignature(Cursor body) {
  const std::int32_t signature = slice_.pool.utf8(body.u2());
  // A copy: interning a name may move the table's bytes.
  const std::string text(slice_.facts.strings.at(signature));
  for (const std::string& name : classesOfSignature(text)) slice_.addReference(slice_.facts.strings.intern(name));
  return signature;
}

}  // namespace workspace::classfile
