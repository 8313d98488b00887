#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../classfile/pack.h"

namespace workspace::digest {

using classfile::I32;
using classfile::U16;
using classfile::U8;

/** How a class uses a type; `USE` in src/analyzer/index/digest.ts documents the kinds. */
namespace use {
constexpr std::uint8_t extends = 0;
constexpr std::uint8_t implements = 1;
constexpr std::uint8_t field = 2;
constexpr std::uint8_t parameter = 3;
constexpr std::uint8_t returns = 4;
constexpr std::uint8_t annotation = 5;
constexpr std::uint8_t instantiation = 6;
constexpr std::uint8_t callReceiver = 7;
constexpr std::uint8_t throws_ = 8;
constexpr std::uint8_t permits = 9;
constexpr std::uint8_t recordComponent = 10;
constexpr std::uint8_t typeParameter = 11;
constexpr std::uint8_t typeArgument = 12;
constexpr std::uint8_t service = 13;
constexpr std::uint8_t fieldRead = 14;
constexpr std::uint8_t fieldWrite = 15;
constexpr std::uint8_t cast = 16;
constexpr std::uint8_t instanceOf = 17;
constexpr std::uint8_t arrayCreation = 18;
constexpr std::uint8_t classLiteral = 19;
constexpr std::uint8_t catch_ = 20;
constexpr std::uint8_t methodReference = 21;
constexpr std::uint8_t lambda = 22;
constexpr std::uint8_t syntheticField = 23;
constexpr std::uint8_t syntheticParameter = 24;
constexpr std::uint8_t syntheticReturn = 25;
constexpr std::uint8_t other = 26;
constexpr std::size_t kinds = 27;
}  // namespace use

/** Counts how often classes use types, one class at a time. */
class UseCounter {
 public:
  struct Rows {
    I32 type;
    U16 class_;
    U8 kind, times;
  };

  /** @param mostTimes maximum count of one row */
  explicit UseCounter(std::uint8_t mostTimes) : mostTimes_(mostTimes) {}

  void add(std::int32_t type, std::uint8_t kind) {
    if (type < 0) return;
    const std::size_t at = static_cast<std::size_t>(type) * use::kinds + kind;
    if (at >= counts_.size()) counts_.resize(2 * at + 2 * use::kinds);
    if (counts_[at]++ == 0) touched_.push_back(at);
  }

  void addIfNew(std::int32_t type, std::uint8_t kind) {
    const std::size_t first = static_cast<std::size_t>(type) * use::kinds;
    for (std::size_t at = first; at < first + use::kinds && at < counts_.size(); at++) {
      if (counts_[at] > 0) return;
    }
    add(type, kind);
  }

  /** A class's mentions of itself do not count. */
  void endClass(std::size_t row, std::int32_t self) {
    for (const std::size_t at : touched_) {
      const auto type = static_cast<std::int32_t>(at / use::kinds);
      for (std::uint32_t left = type == self ? 0 : counts_[at]; left > 0;) {
        const auto times = left < mostTimes_ ? static_cast<std::uint8_t>(left) : mostTimes_;
        rows_.type.push_back(type);
        rows_.class_.push_back(static_cast<std::uint16_t>(row));
        rows_.kind.push_back(static_cast<std::uint8_t>(at % use::kinds));
        rows_.times.push_back(times);
        left -= times;
      }
      counts_[at] = 0;
    }
    touched_.clear();
  }

  const Rows& rows() const { return rows_; }

 private:
  std::uint8_t mostTimes_;
  /** Counts at type * kinds + kind; `touched_` lists those that are not 0. */
  std::vector<std::uint32_t> counts_;
  std::vector<std::size_t> touched_;
  Rows rows_;
};

}  // namespace workspace::digest
