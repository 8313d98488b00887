#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::vsock {

/**
 * Reads MessagePack that has an exact equivalent in JSON: nil, booleans, whole numbers that JavaScript represents
 * exactly, texts, lists, and maps with text keys. Everything else, and everything that JavaScript would represent
 * differently (numeric or duplicate keys), is left to a complete reader: every function then returns false, and
 * previous results are meaningless. Source:
 * github.com/msgpack/msgpack, spec.md.
 */
class MsgpackReader {
 public:
  explicit MsgpackReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool atEnd() const { return at_ == bytes_.size(); }
  bool readMapHead(std::size_t& count);
  /** Reads a valid UTF-8 text, which points into the bytes. */
  bool readText(std::string_view& text);
  bool readBoolean(bool& value);
  /** Appends the next value to `json`. */
  bool readJson(std::string& json) { return readJson(json, 0); }
  /** Whether all JSON so far is ASCII. */
  bool isAscii() const { return isAscii_; }

 private:
  bool take(std::size_t count, std::uint64_t& value);
  bool readJson(std::string& json, int depth);
  bool readList(std::string& json, std::size_t count, int depth);
  bool readMap(std::string& json, std::size_t count, int depth);
  bool readSigned(std::string& json, std::size_t bytes);
  bool readUnsigned(std::string& json, std::size_t bytes);
  bool readDouble(std::string& json);
  bool takeText(std::size_t bytes, std::string_view& text);

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  bool isAscii_ = true;
  /** Keys of the maps being read, the innermost last. */
  std::vector<std::string_view> keys_;
};

}  // namespace workspace::vsock
