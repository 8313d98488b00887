#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cursor.h"
#include "frame.h"
#include "slice.h"

namespace workspace::classfile {

/** An entry of BootstrapMethods; constant pool indices. */
struct BootstrapMethod {
  std::uint16_t handle;
  /** The first MethodHandle among its arguments, which for LambdaMetafactory is the implementation; 0: there is none. */
  std::uint16_t implementation;
};

/** What a Code attribute says about its method. */
struct MethodDebug {
  /** Lowest and highest of LineNumberTable; -1: there is none. */
  std::int32_t firstLine = -1;
  std::int32_t lastLine = -1;
  /** By the slot in which a parameter starts: string ids from LocalVariableTable, -1: none. `this` is in it. */
  std::array<std::int32_t, 256> localNames;
  bool hasLocalNames = false;
};

/** Reads Code attributes (JVMS §4.7.3): call sites with their constants, and references. Buffers are kept for the next. */
class CodeReader {
 public:
  explicit CodeReader(Slice& slice) : slice_(slice) {}

  /**
   * @param firstSlots how many local variables the parameters take, `this` included
   * @returns what stands until the next
   */
  const MethodDebug& read(Cursor attribute, const std::vector<BootstrapMethod>& bootstrapMethods, unsigned firstSlots);

 private:
  struct Line {
    std::uint16_t pc;
    std::uint16_t line;
  };

  void readExceptionTable(Cursor& cursor);
  void readLines(Cursor cursor);
  void readLocals(Cursor cursor, unsigned firstSlots);
  void addCatchTypes();

  /** The first pass: checks that instructions follow each other to the end, and marks what is jumped to. */
  void findBlocks(Cursor code);
  void findSwitchTargets(Cursor& code, std::size_t pc, std::uint8_t opcode);
  void markTarget(std::size_t pc, std::int64_t target, std::size_t offset);

  /** The second pass. */
  void walk(Cursor code);
  void step(Cursor& code, std::uint8_t opcode);
  void loadConstant(std::uint16_t index, bool isWide);
  void load(std::uint8_t type, std::uint16_t index);
  void store(std::uint8_t type, std::uint16_t index);
  void wide(Cursor& code);
  void field(Cursor& code, std::uint8_t opcode);
  void invoke(Cursor& code, std::uint8_t opcode);
  void invokeDynamic(Cursor& code);
  void addArguments(const Descriptor& descriptor);
  void addTypeReference(std::uint16_t index, std::uint8_t opcode, std::int32_t line);
  std::int32_t lineAt(std::size_t pc) const;

  Slice& slice_;
  Frame frame_;
  MethodDebug debug_;
  std::vector<Line> lines_;
  /** handler_pc and catch_type, each pair once. */
  std::vector<std::pair<std::uint16_t, std::uint16_t>> handlers_;
  /** By pc: 1 where a block starts because something else than the instruction before comes here. */
  std::vector<std::uint8_t> isTarget_;
  const std::vector<BootstrapMethod>* bootstrapMethods_ = nullptr;
  std::size_t codeStart_ = 0;
  std::size_t codeLength_ = 0;
  std::int32_t line_ = -1;
};

}  // namespace workspace::classfile
