#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../classfile/pack.h"

namespace workspace::digest {

struct Grouped {
  /** Rows in ascending order of keys; stable. */
  std::vector<std::size_t> order;
  /** Existing keys, and the start of each key's rows in the order, with the end of the last. */
  classfile::I32 keys, first;
};

/** Sorts rows by a key from 0 to below `count`, by counting. */
inline Grouped groupRows(const classfile::I32& keyOf, std::size_t count) {
  Grouped grouped;
  std::vector<std::size_t> starts(count + 1);
  for (const std::int32_t key : keyOf) starts[static_cast<std::size_t>(key) + 1]++;
  for (std::size_t key = 0; key < count; key++) {
    if (starts[key + 1] > 0) {
      grouped.keys.push_back(static_cast<std::int32_t>(key));
      grouped.first.push_back(static_cast<std::int32_t>(starts[key]));
    }
    starts[key + 1] += starts[key];
  }
  grouped.first.push_back(static_cast<std::int32_t>(keyOf.size()));
  grouped.order.resize(keyOf.size());
  for (std::size_t row = 0; row < keyOf.size(); row++) grouped.order[starts[static_cast<std::size_t>(keyOf[row])]++] = row;
  return grouped;
}

/** The values at the rows. */
template <typename Column>
Column picked(const Column& column, const std::vector<std::size_t>& rows) {
  Column values;
  values.reserve(rows.size());
  for (const std::size_t row : rows) values.push_back(column[row]);
  return values;
}

}  // namespace workspace::digest
