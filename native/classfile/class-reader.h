#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "annotation-reader.h"
#include "code-reader.h"
#include "slice.h"

namespace workspace::classfile {

/** Bits of the columns `traits`. */
namespace trait {
constexpr std::uint8_t deprecated = 1;
constexpr std::uint8_t record = 2;
constexpr std::uint8_t sealed = 4;
constexpr std::uint8_t hasCode = 8;
/** The method's rows in `parameters` come from LocalVariableTable, not from MethodParameters. */
constexpr std::uint8_t debugNames = 16;
}  // namespace trait

/** Values of the column moduleDirectives.kind; JVMS §4.7.25. */
namespace directive {
enum Kind : std::uint8_t { moduleSelf = 0, requires_ = 1, exports = 2, opens = 3, uses = 4, provides = 5 };
}  // namespace directive

/** Reason why a class file of the slice has no facts, or lacks those of an attribute. */
struct ClassDiagnostic {
  std::int32_t input;
  /** Byte offset in the class file. */
  std::size_t offset;
  std::string message;
};

/**
 * Reads class files (JVMS §4) of any major version from 45 on into the facts of one slice. Allocates according to a
 * file's size, never to the counts it claims, and takes time proportional to the file's size.
 */
class ClassReader {
 public:
  /**
   * Adds a class. On an error it removes all rows of the class and records a diagnostic; if only annotations cannot be
   * read, it leaves them out and records one, too, because a JVM accepts such a class.
   *
   * @param expected internal name under which a JVM looks for the class, which its own must equal; empty to skip the check
   */
  void read(std::span<const std::uint8_t> bytes, std::int32_t input, std::string_view expected = {});

  /** Prepares for the next slice, reusing the memory. */
  void clear();

  /** Records that an input could not be read at all. */
  void addDiagnostic(std::int32_t input, std::size_t offset, const std::string& message) { diagnostics_.push_back({input, offset, message}); }

  Facts& facts() { return slice_.facts; }
  const std::vector<ClassDiagnostic>& diagnostics() const { return diagnostics_; }

 private:
  void addLeftOut(std::int32_t input);
  void readClass(Cursor file, std::int32_t input);
  void addRow(std::int32_t input, std::uint16_t minor, std::uint16_t major);
  void readInterfaces(Cursor& file);
  void addPoolReferences();

  void readMembers(Cursor& file, bool areMethods);
  void readField(Cursor& file);
  void readMethod(Cursor& file);
  void readConstantValue(Cursor body);
  /** Returns false if they are left out. */
  bool readMethodParameters(Cursor body);
  void addLocalNames(const MethodDebug& debug, const Descriptor& descriptor, bool isStatic);

  void findBootstrapMethods(Cursor attributes);
  void readAttributes(Cursor& file);
  void readAttribute(AttributeKind kind, Cursor body);
  void readInnerClasses(Cursor body);
  void readEnclosingMethod(Cursor body);
  void readRecord(Cursor body);
  void readModule(Cursor body);
  void readModuleTargets(Cursor& body, std::uint8_t kind, std::int32_t subject, std::uint16_t flags, bool areClasses);
  void addModuleDirective(std::uint8_t kind, std::int32_t name, std::uint16_t flags, std::int32_t target);
  void readClassNames(Cursor body, I32& column);
  std::int32_t readSignature(Cursor body);
  /** Returns the kind of an attribute by its name's index, `other` if this class's version does not define it. */
  AttributeKind attributeKind(std::uint16_t name);
  /** Reads an attribute of annotations. Returns false for other attributes. */
  bool readAnnotationAttribute(AttributeKind kind, Cursor body, AnnotationTarget target);

  Slice slice_;
  CodeReader code_{slice_};
  Bootstraps bootstraps_;
  std::vector<ClassDiagnostic> diagnostics_;
  Mark mark_;
};

}  // namespace workspace::classfile
