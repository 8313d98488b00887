#include "class-reader.h"

#include "access-flags.h"

namespace workspace::classfile {

using namespace directive;

void ClassReader::readAttributes(Cursor& file) {
  const auto row = static_cast<std::int32_t>(slice_.facts.classes.name.size() - 1);
  for (std::uint16_t left = file.u2(); left > 0; left--) {
    const AttributeKind kind = attributeKind(file.u2());
    const Cursor body = file.window(file.u4());
    if (!readAnnotationAttribute(kind, body, {TargetKind::class_, row})) readAttribute(kind, body);
  }
}

void ClassReader::readAttribute(AttributeKind kind, Cursor body) {
  auto& classes = slice_.facts.classes;
  switch (kind) {
    case AttributeKind::deprecated:
      classes.traits.back() |= trait::deprecated;
      break;
    case AttributeKind::enclosingMethod:
      readEnclosingMethod(body);
      break;
    case AttributeKind::innerClasses:
      readInnerClasses(body);
      break;
    case AttributeKind::module:
      readModule(body);
      break;
    case AttributeKind::nestHost:
      classes.nestHost.back() = slice_.pool.className(body.u2());
      break;
    case AttributeKind::nestMembers:
      readClassNames(body, slice_.facts.nestMembers.name);
      break;
    case AttributeKind::permittedSubclasses:
      classes.traits.back() |= trait::sealed;
      readClassNames(body, slice_.facts.permittedSubclasses.name);
      break;
    case AttributeKind::record:
      readRecord(body);
      break;
    case AttributeKind::signature:
      classes.signature.back() = readSignature(body);
      break;
    case AttributeKind::sourceFile:
      classes.sourceFile.back() = slice_.pool.utf8(body.u2());
      break;
    case AttributeKind::synthetic:
      classes.accessFlags.back() |= accSynthetic;
      break;
    default:
      break;
  }
}

void ClassReader::readClassNames(Cursor body, I32& column) {
  for (std::uint16_t left = body.u2(); left > 0; left--) column.push_back(slice_.pool.className(body.u2()));
  body.requireEnd();
}

void ClassReader::readEnclosingMethod(Cursor body) {
  auto& classes = slice_.facts.classes;
  classes.enclosingClass.back() = slice_.pool.className(body.u2());
  const std::uint16_t method = body.u2();
  if (method == 0) return;
  const auto [name, descriptor] = slice_.pool.nameAndType(method);
  classes.enclosingMethod.back() = name;
  classes.enclosingDescriptor.back() = descriptor;
}

void ClassReader::readInnerClasses(Cursor body) {
  auto& classes = slice_.facts.classes;
  auto& table = slice_.facts.innerClasses;
  for (std::uint16_t left = body.u2(); left > 0; left--) {
    const std::int32_t inner = slice_.pool.className(body.u2());
    const std::int32_t outer = slice_.pool.classNameOrNone(body.u2());
    const std::int32_t name = slice_.pool.utf8OrNone(body.u2());
    const std::uint16_t flags = body.u2();
    table.innerClass.push_back(inner);
    table.outerClass.push_back(outer);
    table.innerName.push_back(name);
    table.accessFlags.push_back(flags);
    if (inner != classes.name.back()) continue;
    classes.outerClass.back() = outer;
    classes.innerName.back() = name;
    classes.innerAccessFlags.back() = flags;
  }
  body.requireEnd();
}

void ClassReader::readRecord(Cursor body) {
  slice_.facts.classes.traits.back() |= trait::record;
  auto& table = slice_.facts.recordComponents;
  for (std::uint16_t components = body.u2(); components > 0; components--) {
    const auto row = static_cast<std::int32_t>(table.name.size());
    table.name.push_back(slice_.pool.utf8(body.u2()));
    table.descriptor.push_back(slice_.pool.utf8(body.u2()));
    table.signature.push_back(-1);
    for (std::uint16_t left = body.u2(); left > 0; left--) {
      const AttributeKind kind = attributeKind(body.u2());
      const Cursor inner = body.window(body.u4());
      if (readAnnotationAttribute(kind, inner, {TargetKind::recordComponent, row})) continue;
      if (kind == AttributeKind::signature) table.signature.back() = readSignature(inner);
    }
  }
  body.requireEnd();
}

void ClassReader::readModule(Cursor body) {
  ConstantPool& pool = slice_.pool;
  const std::int32_t name = pool.moduleName(body.u2());
  const std::uint16_t flags = body.u2();
  addModuleDirective(moduleSelf, name, flags, pool.utf8OrNone(body.u2()));
  for (std::uint16_t left = body.u2(); left > 0; left--) {
    const std::int32_t required = pool.moduleName(body.u2());
    const std::uint16_t requiredFlags = body.u2();
    addModuleDirective(requires_, required, requiredFlags, pool.utf8OrNone(body.u2()));
  }
  for (const std::uint8_t kind : {exports, opens}) {
    for (std::uint16_t left = body.u2(); left > 0; left--) {
      const std::int32_t package = pool.packageName(body.u2());
      const std::uint16_t packageFlags = body.u2();
      readModuleTargets(body, kind, package, packageFlags, false);
    }
  }
  for (std::uint16_t left = body.u2(); left > 0; left--) addModuleDirective(uses, pool.className(body.u2()), 0, -1);
  for (std::uint16_t left = body.u2(); left > 0; left--) readModuleTargets(body, provides, pool.className(body.u2()), 0, true);
}

void ClassReader::readModuleTargets(Cursor& body, std::uint8_t kind, std::int32_t subject, std::uint16_t flags, bool areClasses) {
  const std::uint16_t count = body.u2();
  if (count == 0) addModuleDirective(kind, subject, flags, -1);
  for (std::uint16_t i = 0; i < count; i++) {
    const std::uint16_t index = body.u2();
    addModuleDirective(kind, subject, flags, areClasses ? slice_.pool.className(index) : slice_.pool.moduleName(index));
  }
}

void ClassReader::addModuleDirective(std::uint8_t kind, std::int32_t name, std::uint16_t flags, std::int32_t target) {
  auto& table = slice_.facts.moduleDirectives;
  table.kind.push_back(kind);
  table.name.push_back(name);
  table.flags.push_back(flags);
  table.target.push_back(target);
}

}  // namespace workspace::classfile
