#include "attribute-kind.h"

#include <array>
#include <utility>

namespace workspace::classfile {

namespace {

using Kind = AttributeKind;

constexpr std::array<std::pair<std::string_view, Kind>, 25> names{{
    {"AnnotationDefault", Kind::annotationDefault},
    {"BootstrapMethods", Kind::bootstrapMethods},
    {"Code", Kind::code},
    {"ConstantValue", Kind::constantValue},
    {"Deprecated", Kind::deprecated},
    {"EnclosingMethod", Kind::enclosingMethod},
    {"Exceptions", Kind::exceptions},
    {"InnerClasses", Kind::innerClasses},
    {"LineNumberTable", Kind::lineNumberTable},
    {"LocalVariableTable", Kind::localVariableTable},
    {"MethodParameters", Kind::methodParameters},
    {"Module", Kind::module},
    {"NestHost", Kind::nestHost},
    {"NestMembers", Kind::nestMembers},
    {"PermittedSubclasses", Kind::permittedSubclasses},
    {"Record", Kind::record},
    {"RuntimeInvisibleAnnotations", Kind::runtimeInvisibleAnnotations},
    {"RuntimeInvisibleParameterAnnotations", Kind::runtimeInvisibleParameterAnnotations},
    {"RuntimeInvisibleTypeAnnotations", Kind::runtimeInvisibleTypeAnnotations},
    {"RuntimeVisibleAnnotations", Kind::runtimeVisibleAnnotations},
    {"RuntimeVisibleParameterAnnotations", Kind::runtimeVisibleParameterAnnotations},
    {"RuntimeVisibleTypeAnnotations", Kind::runtimeVisibleTypeAnnotations},
    {"Signature", Kind::signature},
    {"SourceFile", Kind::sourceFile},
    {"Synthetic", Kind::synthetic},
}};

}  // namespace

AttributeKind attributeKindOf(std::string_view name) {
  for (const auto& [known, kind] : names) {
    if (known == name) return kind;
  }
  return Kind::other;
}

bool isDefinedIn(AttributeKind kind, std::uint16_t major, std::uint16_t minor) {
  // JVMS table 4.7-C. Preview features mark the minor version.
  const bool isPreview = minor == 0xffff;
  switch (kind) {
    case Kind::enclosingMethod:
    case Kind::signature:
    case Kind::runtimeVisibleAnnotations:
    case Kind::runtimeInvisibleAnnotations:
    case Kind::runtimeVisibleParameterAnnotations:
    case Kind::runtimeInvisibleParameterAnnotations:
    case Kind::annotationDefault:
      return major >= 49;
    case Kind::bootstrapMethods:
      return major >= 51;
    case Kind::methodParameters:
    case Kind::runtimeVisibleTypeAnnotations:
    case Kind::runtimeInvisibleTypeAnnotations:
      return major >= 52;
    case Kind::module:
      return major >= 53;
    case Kind::nestHost:
    case Kind::nestMembers:
      return major >= 55;
    case Kind::record:
      return major >= 60 || (isPreview && major >= 58);
    case Kind::permittedSubclasses:
      return major >= 61 || (isPreview && major >= 59);
    default:
      return true;
  }
}

}  // namespace workspace::classfile
