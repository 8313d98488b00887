#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace workspace::classfile {

struct Hashed {
  std::uint64_t hash;
  /** Whether all bytes are ASCII, and therefore equal in modified UTF-8 and UTF-8. A by-product of the hash. */
  bool isAscii;
};

/**
 * A hash that the author of a class file cannot attack: keyed by a secret that each process generates. Fixed strings
 * that collide under a known hash made a similar tool a hundred times slower
 * (https://github.com/smallrye/jandex/issues/322).
 */
Hashed hashOf(std::span<const std::uint8_t> bytes);

/** Distinct strings. Ids count from 0 in the order of first appearance. */
class StringTable {
 public:
  StringTable();

  /** Removes all strings, keeping the memory. */
  void clear();

  std::int32_t intern(std::span<const std::uint8_t> bytes) { return intern(bytes, hashOf(bytes).hash); }
  /** @param hash result of `hashOf` for the bytes */
  std::int32_t intern(std::span<const std::uint8_t> bytes, std::uint64_t hash);
  std::int32_t intern(std::string_view text) {
    return intern(std::span(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  }

  /** Valid until the next `intern`. */
  std::string_view at(std::int32_t id) const;

  std::size_t size() const { return offsets_.size() - 1; }
  /** Concatenated bytes of all strings; string i is the bytes from offsets()[i] to offsets()[i + 1]. */
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  const std::vector<std::int32_t>& offsets() const { return offsets_; }

 private:
  struct Slot {
    std::uint32_t hash;
    /** -1: the slot is free. */
    std::int32_t id;
  };

  void grow();

  std::vector<std::uint8_t> bytes_;
  std::vector<std::int32_t> offsets_{0};
  std::vector<Slot> slots_;
};

}  // namespace workspace::classfile
