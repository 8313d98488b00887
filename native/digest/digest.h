#pragma once

#include <cstdint>
#include <string>

#include "../classfile/facts.h"
#include "string-pool.h"

namespace workspace::digest {

using classfile::I32;
using classfile::U16;
using classfile::U8;

/** Data of a slice that a server keeps in memory. src/analyzer/index/digest.ts documents each column. */
struct Digest {
  StringPool strings;

  struct {
    I32 name, superName;
    U16 accessFlags;
    U8 traits;
    I32 firstInterface, firstMethod;
    U16 methodCount, fieldCount;
  } classes;
  struct { I32 name; } interfaces;
  struct { I32 name, returns; U16 accessFlags; } methods;
  struct { I32 name, firstUse; } types;
  struct { U16 class_; U8 kind, times; } uses;
  struct { I32 owner, name, firstCaller; } callees;
  struct { U16 class_; U8 times; } callers;
  struct { I32 type; U16 class_; I32 row; U8 targetKind; I32 target; } annotations;

  /** Calls visit("table.column", vector) for every column except the strings' bytes, in packed order. */
  template <typename Visit>
  void columns(Visit&& visit) {
    visit("classes.name", classes.name);
    visit("classes.superName", classes.superName);
    visit("classes.accessFlags", classes.accessFlags);
    visit("classes.traits", classes.traits);
    visit("classes.firstInterface", classes.firstInterface);
    visit("classes.firstMethod", classes.firstMethod);
    visit("classes.methodCount", classes.methodCount);
    visit("classes.fieldCount", classes.fieldCount);
    visit("interfaces.name", interfaces.name);
    visit("methods.name", methods.name);
    visit("methods.returns", methods.returns);
    visit("methods.accessFlags", methods.accessFlags);
    visit("types.name", types.name);
    visit("types.firstUse", types.firstUse);
    visit("uses.class", uses.class_);
    visit("uses.kind", uses.kind);
    visit("uses.times", uses.times);
    visit("callees.owner", callees.owner);
    visit("callees.name", callees.name);
    visit("callees.firstCaller", callees.firstCaller);
    visit("callers.class", callers.class_);
    visit("callers.times", callers.times);
    visit("annotations.type", annotations.type);
    visit("annotations.class", annotations.class_);
    visit("annotations.row", annotations.row);
    visit("annotations.targetKind", annotations.targetKind);
    visit("annotations.target", annotations.target);
    visit("texts.hash", strings.hashes());
  }
};

/** Layout of digests, which both sides must share. */
std::string digestLayout();

/**
 * Creates the digest of a slice's facts, which must be complete; byte for byte what test/oracle/digest/build-digest.ts
 * creates.
 */
Digest buildDigest(const classfile::Facts& facts);

}  // namespace workspace::digest
