#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pack.h"
#include "string-table.h"

namespace workspace::classfile {

/**
 * Facts of a slice of class files, as columns: row i of a table is element i of each of its columns.
 * src/analyzer/bytecode/columns.ts documents each column. A column `first…` is the index of a row's first row in
 * another table; its last element, one more than there are rows, is that table's length.
 */
struct Facts {
  StringTable strings;

  struct {
    I32 input;
    U16 majorVersion, minorVersion, accessFlags;
    U8 traits;
    I32 name, superName, signature, sourceFile, outerClass, innerName;
    U16 innerAccessFlags;
    I32 enclosingClass, enclosingMethod, enclosingDescriptor, nestHost;
    I32 firstInterface, firstPermittedSubclass, firstNestMember, firstInnerClass, firstRecordComponent, firstModuleDirective;
    I32 firstField, firstMethod, firstReference, firstAnnotation;
  } classes;
  struct { I32 name; } interfaces, permittedSubclasses, nestMembers, references, exceptions;
  struct { I32 innerClass, outerClass, innerName; U16 accessFlags; } innerClasses;
  struct { I32 name, descriptor, signature; } recordComponents;
  struct { U8 kind; I32 name; U16 flags; I32 target; } moduleDirectives;
  struct { I32 name, descriptor, signature; U16 accessFlags; U8 traits, constantKind; I32 constant, constantHigh; } fields;
  struct {
    I32 name, descriptor, signature;
    U16 accessFlags;
    U8 traits;
    I32 firstLine, lastLine;
    I32 firstException, firstParameter, firstCall, firstFieldAccess, firstTypeReference, firstDynamicCall;
  } methods;
  struct { I32 name; U16 accessFlags; } parameters;
  struct { I32 owner, name, descriptor; U8 opcode, isInterface; I32 line, firstArgument; } calls;
  struct { U8 index, kind; I32 value, high; } arguments;
  struct { I32 owner, name, descriptor; U8 opcode; I32 line; } fieldAccesses;
  struct { I32 name; U8 opcode; I32 line; } typeReferences;
  struct {
    I32 name, descriptor, bootstrapOwner, bootstrapName;
    U8 handleKind, handleIsInterface;
    I32 handleOwner, handleName, handleDescriptor, line;
  } dynamicCalls;
  struct {
    U8 targetKind;
    I32 target, parameter, parameterCount;
    U8 position;
    I32 path, type;
    U8 isVisible;
    I32 elementStart, elementCount;
  } annotations;
  struct { I32 name; U8 tag; I32 value, high; } elements;

  /** Removes all rows and strings, keeping the memory. */
  void clear();

  /** Calls visit("table.column", vector) for every column except the strings', in packed order. */
  template <typename Visit>
  void columns(Visit&& visit);

  /** Completes the columns `first…`; nothing may be added afterwards. */
  void finish();
};

/** Layout of facts, which both sides must share. */
std::string factsLayout();

/** Removes the rows of an invalid class. Strings stay. */
class Mark {
 public:
  void set(Facts& facts);
  void takeBack(Facts& facts) const;

 private:
  std::vector<std::size_t> lengths_;
};

}  // namespace workspace::classfile

#include "facts-columns.h"
