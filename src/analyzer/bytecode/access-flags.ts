/** Access flags of classes, fields and methods (JVMS §4.1, §4.5, §4.6). */
export const ACC = {
  PUBLIC: 0x0001,
  PRIVATE: 0x0002,
  PROTECTED: 0x0004,
  STATIC: 0x0008,
  FINAL: 0x0010,
  BRIDGE: 0x0040,
  VARARGS: 0x0080,
  INTERFACE: 0x0200,
  ABSTRACT: 0x0400,
  SYNTHETIC: 0x1000,
  ANNOTATION: 0x2000,
  ENUM: 0x4000,
  MODULE: 0x8000,
} as const
