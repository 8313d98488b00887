#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace workspace::digest {

/**
 * Distinct strings by id from 0, in the order of first appearance, with the hash that the server uses too: that of
 * src/analyzer/index/string-pool.ts. An attack on the hash slows down only its own slice: slices are small.
 */
class StringPool {
 public:
  StringPool();

  std::int32_t idOf(std::string_view text);

  std::size_t size() const { return hashes_.size(); }
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }
  const std::vector<std::int32_t>& offsets() const { return offsets_; }
  const std::vector<std::int32_t>& hashes() const { return hashes_; }

 private:
  bool equals(std::int32_t id, std::string_view text) const;
  void grow();

  std::vector<std::uint8_t> bytes_;
  std::vector<std::int32_t> offsets_{0};
  std::vector<std::int32_t> hashes_;
  /** Open addressing by hash, at most half full; -1 is free. */
  std::vector<std::int32_t> slots_;
};

}  // namespace workspace::digest
