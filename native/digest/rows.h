#pragma once

#include <cstddef>

#include "../classfile/pack.h"

namespace workspace::digest {

using classfile::I32;

/** Rows that belong to a row, by a column `first…`. */
struct Rows {
  Rows(const I32& first, std::size_t row) : begin(static_cast<std::size_t>(first[row])), end(static_cast<std::size_t>(first[row + 1])) {}
  /** Rows that belong to a range of rows. */
  Rows(const I32& first, const Rows& rows) : begin(static_cast<std::size_t>(first[rows.begin])), end(static_cast<std::size_t>(first[rows.end])) {}
  std::size_t begin;
  std::size_t end;
};

}  // namespace workspace::digest
