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
  /** First MethodHandle among its arguments, which for LambdaMetafactory is the implementation; 0 without one. */
  std::uint16_t implementation;
  /** Its arguments in `Bootstraps::arguments`. */
  std::size_t firstArgument;
  std::uint16_t argumentCount;
};

/** The attribute BootstrapMethods. */
struct Bootstraps {
  std::vector<BootstrapMethod> methods;
  /** Constant pool indices. */
  std::vector<std::uint16_t> arguments;
};

/** Debug information of a method from its Code attribute. */
struct MethodDebug {
  /** Lowest and highest line of LineNumberTable; -1 without one. */
  std::int32_t firstLine = -1;
  std::int32_t lastLine = -1;
  /** String ids from LocalVariableTable by a parameter's first slot, including `this`; -1 without a name. */
  std::array<std::int32_t, 256> localNames;
  bool hasLocalNames = false;
};

/** Reads Code attributes (JVMS §4.7.3): call sites with their constants, and references. Buffers are reused. */
class CodeReader {
 public:
  explicit CodeReader(Slice& slice) : slice_(slice) {}

  /**
   * @param firstSlots number of local variables for parameters, including `this`
   * @returns a reference that is valid until the next call
   */
  const MethodDebug& read(Cursor attribute, const Bootstraps& bootstraps, unsigned firstSlots);

  /** Prepares for the next class. @param classBytes size of its file, which limits how often arguments of bootstrap methods are read */
  void startClass(std::size_t classBytes) { argumentsLeft_ = classBytes; }

 private:
  struct Line {
    std::uint16_t pc;
    std::uint16_t line;
  };

  void readExceptionTable(Cursor& cursor);
  void readLines(Cursor cursor);
  void readLocals(Cursor cursor, unsigned firstSlots);
  void addCatchTypes();

  /** The first pass: checks that instructions follow each other to the end, and marks jump targets. */
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
  /** Adds the classes in the arguments of a bootstrap method, and those that its dynamic constants describe. */
  void addBootstrapTypes(const BootstrapMethod& bootstrap, std::uint8_t opcode, int depth);
  void addTypesOfSite(const MemberRef& bootstrapMember, const BootstrapMethod& bootstrap, const Descriptor& descriptor);
  void addNamedReference(std::int32_t name, std::uint8_t opcode, std::int32_t line);
  /** Adds the class that `ClassDesc.of` describes: javac writes enum constants of another class in a switch that way. */
  void addDescribedClass(const BootstrapMethod& bootstrap, std::uint8_t opcode);
  const BootstrapMethod& bootstrapOf(const DynamicRef& site, std::size_t offset) const;
  void addTypeReference(std::uint16_t index, std::uint8_t opcode, std::int32_t line);
  std::int32_t lineAt(std::size_t pc) const;

  Slice& slice_;
  Frame frame_;
  MethodDebug debug_;
  std::vector<Line> lines_;
  /** Distinct pairs of handler_pc and catch_type. */
  std::vector<std::pair<std::uint16_t, std::uint16_t>> handlers_;
  /** By pc: 1 if a block starts here because it can be reached other than from the previous instruction. */
  std::vector<std::uint8_t> isTarget_;
  const Bootstraps* bootstraps_ = nullptr;
  std::size_t argumentsLeft_ = 0;
  std::size_t codeStart_ = 0;
  std::size_t codeLength_ = 0;
  std::int32_t line_ = -1;
};

}  // namespace workspace::classfile
