#pragma once

#include <cstdint>

#include "cursor.h"
#include "slice.h"

namespace workspace::classfile {

/** What an annotation is on; the numbers are those of the column annotations.targetKind. */
enum class TargetKind : std::uint8_t {
  class_ = 0,
  field = 1,
  method = 2,
  parameter = 3,
  recordComponent = 4,
  /** Not an annotation: the value of AnnotationDefault, as the only element of a row without a type. */
  annotationDefault = 5,
  /** An annotation nested in an element of another one. */
  annotation = 6,
  /** On types in declarations and code. */
  classType = 7,
  fieldType = 8,
  methodType = 9,
  parameterType = 10,
  recordComponentType = 11,
  /** On a type; a copy of an annotation on the declaration. */
  repeatedOnType = 12,
};

/** Whether an annotation is on a declaration or a type, not a value inside another annotation. */
constexpr bool isOnSource(std::uint8_t targetKind) {
  return targetKind < static_cast<std::uint8_t>(TargetKind::annotationDefault) ||
         (targetKind >= static_cast<std::uint8_t>(TargetKind::classType) && targetKind < static_cast<std::uint8_t>(TargetKind::repeatedOnType));
}

struct AnnotationTarget {
  TargetKind kind;
  /** Row in the table of that kind; a method's for `parameter` and `annotationDefault`. */
  std::int32_t row;
};

/** Reads Runtime(In)VisibleAnnotations, JVMS §4.7.16 and §4.7.17. */
void readAnnotations(Slice& slice, Cursor cursor, AnnotationTarget target, bool isVisible);

/** Reads Runtime(In)VisibleParameterAnnotations, JVMS §4.7.18 and §4.7.19. */
void readParameterAnnotations(Slice& slice, Cursor cursor, std::int32_t method, bool isVisible);

/** Reads Runtime(In)VisibleTypeAnnotations of `target`, JVMS §4.7.20 and §4.7.21. */
void readTypeAnnotations(Slice& slice, Cursor cursor, AnnotationTarget target, bool isVisible);

/**
 * Marks annotations on types that repeat one on the declaration: an annotation that applies to both is compiled twice.
 *
 * @param first the class's first row in `annotations`
 */
void markRepeatedOnTypes(Facts& facts, std::size_t first);

/** Reads AnnotationDefault, JVMS §4.7.22. */
void readAnnotationDefault(Slice& slice, Cursor cursor, std::int32_t method);

}  // namespace workspace::classfile
