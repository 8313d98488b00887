#include "code-reader.h"

#include <algorithm>
#include <string>

#include "annotation-reader.h"
#include "opcodes.h"

namespace workspace::classfile {

namespace {

// JVMS §4.7.3.
constexpr std::uint32_t maxCodeLength = 65535;

}  // namespace

const MethodDebug& CodeReader::read(Cursor attribute, const Bootstraps& bootstraps, unsigned firstSlots) {
  bootstraps_ = &bootstraps;
  lines_.clear();
  handlers_.clear();
  debug_.firstLine = debug_.lastLine = -1;
  debug_.hasLocalNames = false;
  const std::uint16_t maxStack = attribute.u2();
  const std::uint16_t maxLocals = attribute.u2();
  const std::size_t at = attribute.offset();
  const std::uint32_t length = attribute.u4();
  if (length == 0 || length > maxCodeLength) throw ClassFormatError(at, "code_length is " + std::to_string(length) + ", not 1 to 65535");
  const Cursor code = attribute.window(length);
  codeStart_ = code.offset();
  codeLength_ = length;
  isTarget_.assign(length, 0);
  readExceptionTable(attribute);
  for (std::uint16_t left = attribute.u2(); left > 0; left--) {
    const AttributeKind kind = slice_.pool.attributeKind(attribute.u2());
    const Cursor body = attribute.window(attribute.u4());
    if (kind == AttributeKind::lineNumberTable) readLines(body);
    if (kind == AttributeKind::localVariableTable) readLocals(body, firstSlots);
    if (kind == AttributeKind::runtimeVisibleTypeAnnotations || kind == AttributeKind::runtimeInvisibleTypeAnnotations) {
      const auto method = static_cast<std::int32_t>(slice_.facts.methods.name.size() - 1);
      readTypeAnnotations(slice_, body, {TargetKind::method, method}, kind == AttributeKind::runtimeVisibleTypeAnnotations);
    }
  }
  const auto byPc = [](const Line& a, const Line& b) { return a.pc < b.pc; };
  if (!std::is_sorted(lines_.begin(), lines_.end(), byPc)) std::stable_sort(lines_.begin(), lines_.end(), byPc);
  if (!lines_.empty()) {
    const auto [low, high] =
        std::minmax_element(lines_.begin(), lines_.end(), [](const Line& a, const Line& b) { return a.line < b.line; });
    debug_.firstLine = low->line;
    debug_.lastLine = high->line;
  }
  frame_.startMethod(maxStack, maxLocals);
  findBlocks(code);
  walk(code);
  addCatchTypes();
  return debug_;
}

void CodeReader::readExceptionTable(Cursor& cursor) {
  for (std::uint16_t left = cursor.u2(); left > 0; left--) {
    cursor.skip(4);
    const std::size_t at = cursor.offset();
    const std::uint16_t handler = cursor.u2();
    if (handler >= codeLength_) throw ClassFormatError(at, "handler_pc " + std::to_string(handler) + " is beyond the code");
    isTarget_[handler] = 1;
    const std::uint16_t type = cursor.u2();
    if (type != 0) handlers_.emplace_back(handler, type);
  }
  // A handler with several ranges, which a return in the middle splits, counts as one catch.
  std::sort(handlers_.begin(), handlers_.end());
  handlers_.erase(std::unique(handlers_.begin(), handlers_.end()), handlers_.end());
}

void CodeReader::readLines(Cursor cursor) {
  const std::uint16_t count = cursor.u2();
  cursor.requireEach(count, 4);
  for (std::uint16_t i = 0; i < count; i++) {
    const std::uint16_t pc = cursor.u2();
    lines_.push_back({pc, cursor.u2()});
  }
  cursor.requireEnd();
}

void CodeReader::readLocals(Cursor cursor, unsigned firstSlots) {
  for (std::uint16_t left = cursor.u2(); left > 0; left--) {
    const std::uint16_t startPc = cursor.u2();
    cursor.skip(2);
    const std::uint16_t name = cursor.u2();
    cursor.skip(2);
    const std::uint16_t index = cursor.u2();
    if (startPc != 0 || index >= firstSlots || index >= debug_.localNames.size()) continue;
    if (!debug_.hasLocalNames) debug_.localNames.fill(-1);
    debug_.hasLocalNames = true;
    debug_.localNames[index] = slice_.pool.utf8(name);
  }
  cursor.requireEnd();
}

void CodeReader::addCatchTypes() {
  for (const auto& [handler, type] : handlers_) addTypeReference(type, 0, lineAt(handler));
}

void CodeReader::findBlocks(Cursor code) {
  while (!code.atEnd()) {
    const std::size_t offset = code.offset();
    const std::size_t pc = offset - codeStart_;
    const std::uint8_t opcode = code.u1();
    const Instruction instruction = instructions[opcode];
    switch (instruction.flow) {
      case Flow::none:
        code.skip(instruction.length - 1U);
        continue;
      case Flow::branch:
        markTarget(pc, code.s2(), offset);
        // A jsr subroutine returns after it with other values.
        if (opcode != op::goto_ && opcode != op::jsr) continue;
        break;
      case Flow::wideBranch:
        markTarget(pc, code.s4(), offset);
        break;
      case Flow::switch_:
        findSwitchTargets(code, pc, opcode);
        break;
      case Flow::wide:
        code.skip(code.u1() == op::iinc ? 4 : 2);
        continue;
      case Flow::end:
        code.skip(instruction.length - 1U);
        break;
      case Flow::unknown:
        throw ClassFormatError(offset, "unknown opcode " + std::to_string(opcode));
    }
    // Only a jump can reach the next instruction.
    if (!code.atEnd()) isTarget_[code.offset() - codeStart_] = 1;
  }
}

void CodeReader::findSwitchTargets(Cursor& code, std::size_t pc, std::uint8_t opcode) {
  const std::size_t offset = code.offset() - 1;
  // Operands are aligned to the start of the code, not of the file.
  code.skip(3 - pc % 4);
  markTarget(pc, code.s4(), offset);
  std::int64_t count;
  if (opcode == op::tableswitch) {
    const std::int64_t low = code.s4();
    const std::int64_t high = code.s4();
    count = high - low + 1;
  } else {
    count = code.s4();
  }
  const std::size_t each = opcode == op::tableswitch ? 4 : 8;
  if (count < 0) throw ClassFormatError(offset, "a switch has " + std::to_string(count) + " cases");
  code.requireEach(static_cast<std::size_t>(count), each);
  for (; count > 0; count--) {
    if (each == 8) code.skip(4);
    markTarget(pc, code.s4(), offset);
  }
}

void CodeReader::markTarget(std::size_t pc, std::int64_t distance, std::size_t offset) {
  const std::int64_t target = static_cast<std::int64_t>(pc) + distance;
  if (target < 0 || target >= static_cast<std::int64_t>(codeLength_)) {
    throw ClassFormatError(offset, "a jump from " + std::to_string(pc) + " targets " + std::to_string(target) + ", outside the code");
  }
  isTarget_[static_cast<std::size_t>(target)] = 1;
}

std::int32_t CodeReader::lineAt(std::size_t pc) const {
  const auto next = std::upper_bound(lines_.begin(), lines_.end(), pc, [](std::size_t at, const Line& line) { return at < line.pc; });
  return next == lines_.begin() ? -1 : std::prev(next)->line;
}

}  // namespace workspace::classfile
