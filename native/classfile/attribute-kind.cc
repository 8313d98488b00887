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

}  // namespace workspace::classfile
