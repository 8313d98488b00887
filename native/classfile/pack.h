#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace workspace::classfile {

using I32 = std::vector<std::int32_t>;
using U16 = std::vector<std::uint16_t>;
using U8 = std::vector<std::uint8_t>;

/*
 * Tables whose columns are vectors, in one buffer: a word with the number of columns, then for each its byte offset and its
 * length in elements (32-bit words of this machine's byte order), then the columns, each at a multiple of 8, the strings
 * last. Both sides must agree on the columns: src/analyzer/bytecode/tables.ts packs and reads the same form.
 *
 * Tables have `strings` (with `bytes()` and `offsets()`) and `columns(visit)`, which calls visit("table.column", vector)
 * for every other column.
 */

namespace packing {

inline std::size_t aligned(std::size_t bytes) { return (bytes + 7) & ~std::size_t{7}; }

inline const char* typeOf(const I32&) { return "i32"; }
inline const char* typeOf(const U16&) { return "u16"; }
inline const char* typeOf(const U8&) { return "u8"; }

template <typename Column>
std::size_t bytesOf(const Column& column) {
  return column.size() * sizeof(typename Column::value_type);
}

template <typename Tables>
std::size_t countOf(Tables& tables) {
  std::size_t count = 2;
  tables.columns([&](const char*, const auto&) { count++; });
  return count;
}

inline std::size_t headerBytes(std::size_t columns) { return aligned((1 + 2 * columns) * sizeof(std::uint32_t)); }

}  // namespace packing

/** Returns the number of bytes that `pack` writes. */
template <typename Tables>
std::size_t packedBytes(Tables& tables) {
  using namespace packing;
  std::size_t bytes = aligned(bytesOf(tables.strings.bytes())) + aligned(bytesOf(tables.strings.offsets()));
  tables.columns([&](const char*, const auto& column) { bytes += aligned(bytesOf(column)); });
  return headerBytes(countOf(tables)) + bytes;
}

template <typename Tables>
void pack(Tables& tables, std::uint8_t* buffer) {
  using namespace packing;
  const std::size_t count = countOf(tables);
  std::size_t body = headerBytes(count);
  std::memset(buffer, 0, body);
  const auto word = [buffer](std::size_t place, std::size_t value) {
    const auto narrow = static_cast<std::uint32_t>(value);
    std::memcpy(buffer + place * sizeof narrow, &narrow, sizeof narrow);
  };
  const auto add = [&](std::size_t index, const auto& column) {
    word(1 + 2 * index, body);
    word(2 + 2 * index, column.size());
    const std::size_t bytes = bytesOf(column);
    if (bytes > 0) std::memcpy(buffer + body, column.data(), bytes);
    std::memset(buffer + body + bytes, 0, aligned(bytes) - bytes);
    body += aligned(bytes);
  };
  word(0, count);
  std::size_t index = 2;
  tables.columns([&](const char*, const auto& column) { add(index++, column); });
  add(1, tables.strings.offsets());
  add(0, tables.strings.bytes());
}

/** Returns the columns' names and types in the order of the header, "strings.bytes:u8 strings.offsets:i32 …". */
template <typename Tables>
std::string packedLayout(Tables& tables) {
  std::string layout = "strings.bytes:u8 strings.offsets:i32";
  tables.columns([&](const char* name, const auto& column) { layout += std::string(" ") + name + ":" + packing::typeOf(column); });
  return layout;
}

}  // namespace workspace::classfile
