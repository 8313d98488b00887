#pragma once

#include <cstdint>

#include "cursor.h"
#include "slice.h"

namespace workspace::classfile {

/** What an annotation stands on; the numbers are those of the column annotations.targetKind. */
enum class TargetKind : std::uint8_t {
  class_ = 0,
  field = 1,
  method = 2,
  parameter = 3,
  recordComponent = 4,
  /** No annotation: the value of AnnotationDefault, as the one element of a row without a type. */
  annotationDefault = 5,
  /** Another annotation, whose element's value it is. */
  annotation = 6,
};

struct AnnotationTarget {
  TargetKind kind;
  /** Row in the table of that kind; a method's for `parameter` and `annotationDefault`. */
  std::int32_t row;
};

/** Runtime(In)VisibleAnnotations, JVMS §4.7.16 and §4.7.17. */
void readAnnotations(Slice& slice, Cursor cursor, AnnotationTarget target, bool isVisible);

/** Runtime(In)VisibleParameterAnnotations, JVMS §4.7.18 and §4.7.19. */
void readParameterAnnotations(Slice& slice, Cursor cursor, std::int32_t method, bool isVisible);

/** AnnotationDefault, JVMS §4.7.22. */
void readAnnotationDefault(Slice& slice, Cursor cursor, std::int32_t method);

}  // namespace workspace::classfile
