#pragma once

#include <cstdint>
#include <string_view>

namespace workspace::classfile {

/** The attributes of JVMS §4.7 that are read; all others are passed by their length. */
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

/** Never `notAsked`. */
AttributeKind attributeKindOf(std::string_view name);

}  // namespace workspace::classfile
