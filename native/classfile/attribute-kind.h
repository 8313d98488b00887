#pragma once

#include <cstdint>
#include <string_view>

namespace workspace::classfile {

/** Attributes of JVMS §4.7 that are read; all others are skipped by their length. */
enum class AttributeKind : std::uint8_t {
  notAsked,
  other,
  annotationDefault,
  bootstrapMethods,
  code,
  constantValue,
  deprecated,
  enclosingMethod,
  exceptions,
  innerClasses,
  lineNumberTable,
  localVariableTable,
  methodParameters,
  module,
  nestHost,
  nestMembers,
  permittedSubclasses,
  record,
  runtimeInvisibleAnnotations,
  runtimeInvisibleParameterAnnotations,
  runtimeInvisibleTypeAnnotations,
  runtimeVisibleAnnotations,
  runtimeVisibleParameterAnnotations,
  runtimeVisibleTypeAnnotations,
  signature,
  sourceFile,
  synthetic,
};

/** Returns the kind of an attribute by its name, never `notAsked`. */
AttributeKind attributeKindOf(std::string_view name);

/** Whether a JVM reads an attribute in class files of a version; it ignores those that a later version defines. */
bool isDefinedIn(AttributeKind kind, std::uint16_t major, std::uint16_t minor);

}  // namespace workspace::classfile
