#pragma once

#include <array>
#include <cstdint>

namespace workspace::classfile {

/** Opcodes of JVMS §6.5 that the reader handles. */
namespace op {
enum : std::uint8_t {
  iconst_m1 = 2, iconst_5 = 8, lconst_0 = 9, lconst_1 = 10, fconst_0 = 11, fconst_2 = 13, dconst_0 = 14, dconst_1 = 15,
  bipush = 16, sipush = 17, ldc = 18, ldc_w = 19, ldc2_w = 20,
  iload = 21, aload = 25, iload_0 = 26, aload_3 = 45, istore = 54, astore = 58, istore_0 = 59, astore_3 = 78,
  dup = 89, dup_x1 = 90, dup_x2 = 91, dup2 = 92, dup2_x1 = 93, dup2_x2 = 94, swap = 95,
  iinc = 132, ifeq = 153, if_acmpne = 166, goto_ = 167, jsr = 168, ret = 169, tableswitch = 170, lookupswitch = 171,
  ireturn = 172, return_ = 177, getstatic = 178, putstatic = 179, getfield = 180, putfield = 181,
  invokevirtual = 182, invokespecial = 183, invokestatic = 184, invokeinterface = 185, invokedynamic = 186,
  new_ = 187, anewarray = 189, athrow = 191, checkcast = 192, instanceof_ = 193,
  wide = 196, multianewarray = 197, ifnull = 198, ifnonnull = 199, goto_w = 200, jsr_w = 201,
};
}  // namespace op

/** Control flow of an instruction, or how its operands are read. */
enum class Flow : std::uint8_t { none, branch, wideBranch, switch_, wide, end, unknown };

/** Size and stack effect of an instruction, if independent of its operands. */
struct Instruction {
  /** Size in bytes including the opcode; 0 if it varies or the opcode does not exist. */
  std::uint8_t length = 0;
  /** In slots. */
  std::uint8_t pops = 0;
  std::uint8_t pushes = 0;
  Flow flow = Flow::unknown;
};

constexpr std::array<Instruction, 256> makeInstructions() {
  std::array<Instruction, 256> all{};
  const auto set = [&all](int from, int to, std::uint8_t length, std::uint8_t pops, std::uint8_t pushes) {
    for (int i = from; i <= to; i++) all[static_cast<std::size_t>(i)] = Instruction{length, pops, pushes, Flow::none};
  };
  // i, l, f and d of an operation are consecutive.
  const auto setEach = [&set](int from, std::uint8_t pops, std::uint8_t pushes) {
    for (int i = 0; i < 4; i++) {
      const auto width = static_cast<std::uint8_t>(i % 2 + 1);
      set(from + i, from + i, 1, static_cast<std::uint8_t>(pops * width), static_cast<std::uint8_t>(pushes * width));
    }
  };
  set(0, 0, 1, 0, 0);
  set(1, 8, 1, 0, 1);
  set(9, 10, 1, 0, 2);
  set(11, 13, 1, 0, 1);
  set(14, 15, 1, 0, 2);
  set(op::bipush, op::bipush, 2, 0, 1);
  set(op::sipush, op::sipush, 3, 0, 1);
  set(op::ldc, op::ldc, 2, 0, 1);
  set(op::ldc_w, op::ldc_w, 3, 0, 1);
  set(op::ldc2_w, op::ldc2_w, 3, 0, 2);
  set(op::iload, op::aload, 2, 0, 0);
  set(op::iload_0, op::aload_3, 1, 0, 0);
  set(46, 53, 1, 2, 1);
  set(47, 47, 1, 2, 2);
  set(49, 49, 1, 2, 2);
  set(op::istore, op::astore, 2, 0, 0);
  set(op::istore_0, op::astore_3, 1, 0, 0);
  set(79, 86, 1, 3, 0);
  set(80, 80, 1, 4, 0);
  set(82, 82, 1, 4, 0);
  set(87, 87, 1, 1, 0);
  set(88, 88, 1, 2, 0);
  set(op::dup, op::swap, 1, 0, 0);
  for (int i = 96; i < 116; i += 4) setEach(i, 2, 1);
  setEach(116, 1, 1);
  for (int i = 120; i < 126; i += 2) {
    set(i, i, 1, 2, 1);
    set(i + 1, i + 1, 1, 3, 2);
  }
  for (int i = 126; i < 132; i += 2) {
    set(i, i, 1, 2, 1);
    set(i + 1, i + 1, 1, 4, 2);
  }
  set(op::iinc, op::iinc, 3, 0, 0);
  set(133, 147, 1, 1, 1);
  for (const int i : {133, 135, 140, 141}) set(i, i, 1, 1, 2);
  for (const int i : {136, 137, 142, 144}) set(i, i, 1, 2, 1);
  for (const int i : {138, 143}) set(i, i, 1, 2, 2);
  set(148, 152, 1, 4, 1);
  set(149, 150, 1, 2, 1);
  set(op::ifeq, 158, 3, 1, 0);
  set(159, op::if_acmpne, 3, 2, 0);
  set(op::goto_, op::goto_, 3, 0, 0);
  set(op::jsr, op::jsr, 3, 0, 1);
  set(op::ret, op::ret, 2, 0, 0);
  set(op::tableswitch, op::lookupswitch, 0, 1, 0);
  setEach(op::ireturn, 1, 0);
  set(176, 176, 1, 1, 0);
  set(op::return_, op::return_, 1, 0, 0);
  set(op::getstatic, op::invokestatic, 3, 0, 0);
  set(op::invokeinterface, op::invokedynamic, 5, 0, 0);
  set(op::new_, op::new_, 3, 0, 1);
  set(188, 188, 2, 1, 1);
  set(op::anewarray, op::anewarray, 3, 1, 1);
  set(190, 190, 1, 1, 1);
  set(op::athrow, op::athrow, 1, 1, 0);
  // The reference stays, with another type.
  set(op::checkcast, op::checkcast, 3, 0, 0);
  set(op::instanceof_, op::instanceof_, 3, 1, 1);
  set(194, 195, 1, 1, 0);
  set(op::multianewarray, op::multianewarray, 4, 0, 0);
  set(op::ifnull, op::ifnonnull, 3, 1, 0);
  set(op::goto_w, op::goto_w, 5, 0, 0);
  set(op::jsr_w, op::jsr_w, 5, 0, 1);
  const auto flow = [&all](int from, int to, Flow way) {
    for (int i = from; i <= to; i++) all[static_cast<std::size_t>(i)].flow = way;
  };
  flow(op::ifeq, op::jsr, Flow::branch);
  flow(op::ifnull, op::ifnonnull, Flow::branch);
  flow(op::goto_w, op::jsr_w, Flow::wideBranch);
  flow(op::tableswitch, op::lookupswitch, Flow::switch_);
  flow(op::ret, op::ret, Flow::end);
  flow(op::ireturn, op::return_, Flow::end);
  flow(op::athrow, op::athrow, Flow::end);
  flow(op::wide, op::wide, Flow::wide);
  return all;
}

inline constexpr std::array<Instruction, 256> instructions = makeInstructions();

}  // namespace workspace::classfile
