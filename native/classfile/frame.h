#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace workspace::classfile {

/** Kind of a known value; the numbers are those of the column arguments.kind. */
enum class ValueKind : std::uint8_t { unknown = 0, int_ = 1, long_ = 2, float_ = 3, double_ = 4, string = 5, class_ = 6 };

/** A constant, or unknown. `low` is an int, the bits of a float, a string id, or the low half of 64 bits. */
struct Value {
  ValueKind kind = ValueKind::unknown;
  std::int32_t low = 0;
  std::int32_t high = 0;

  bool isWide() const { return kind == ValueKind::long_ || kind == ValueKind::double_; }
};

/**
 * Operand stack and local variables, as far as one block of code determines them: a block starts with unknown values at
 * every jump target. A long or double takes two slots, and the first of them holds the value.
 */
class Frame {
 public:
  void startMethod(std::uint16_t maxStack, std::uint16_t maxLocals) {
    if (stack_.size() < std::size_t{maxStack} + 2) stack_.resize(std::size_t{maxStack} + 2);
    if (locals_.size() < maxLocals) locals_.resize(maxLocals);
    localCount_ = maxLocals;
    startBlock();
  }

  void startBlock() {
    depth_ = 0;
    block_++;
  }

  void push(const Value& value) {
    // Only code that the JVM rejects exceeds max_stack; its effect does not matter.
    if (depth_ == stack_.size()) depth_ = 0;
    stack_[depth_++] = value;
  }

  void pushUnknown(unsigned slots) {
    for (; slots > 0; slots--) push(Value{});
  }

  void pushWide(const Value& value) {
    push(value);
    push(Value{});
  }

  /** Values below the known part are unknown, so popping more than exists leaves an empty stack. */
  void pop(unsigned slots) { depth_ -= std::min<std::size_t>(slots, depth_); }

  /** Returns the value `slots` below the top: 1 is the topmost slot. */
  Value peek(unsigned slots) const { return slots <= depth_ ? stack_[depth_ - slots] : Value{}; }

  /** Copies the topmost `count` slots and inserts them below `under` further slots: dup, dup_x1 … dup2_x2. */
  void duplicate(unsigned count, unsigned under) {
    Value taken[4];
    for (unsigned i = 0; i < count + under; i++) taken[i] = peek(i + 1);
    pop(count + under);
    for (unsigned i = count; i > 0; i--) push(taken[i - 1]);
    for (unsigned i = count + under; i > 0; i--) push(taken[i - 1]);
  }

  void swap() {
    const Value top = peek(1);
    const Value below = peek(2);
    pop(2);
    push(top);
    push(below);
  }

  Value load(std::uint16_t index) const {
    return index < localCount_ && locals_[index].block == block_ ? locals_[index].value : Value{};
  }

  void store(std::uint16_t index, const Value& value, bool isWide) {
    // The second half of a preceding long or double is overwritten.
    if (index > 0 && load(static_cast<std::uint16_t>(index - 1)).isWide()) forget(static_cast<std::uint16_t>(index - 1));
    if (index < localCount_) locals_[index] = Local{value, block_};
    if (isWide) forget(static_cast<std::uint16_t>(index + 1));
  }

  void forget(std::uint16_t index) {
    if (index < localCount_) locals_[index].value = Value{};
  }

 private:
  struct Local {
    Value value;
    /** The block that stored it. */
    std::uint64_t block = 0;
  };

  std::vector<Value> stack_;
  std::size_t depth_ = 0;
  std::vector<Local> locals_;
  std::uint16_t localCount_ = 0;
  std::uint64_t block_ = 0;
};

}  // namespace workspace::classfile
