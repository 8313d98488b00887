#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::vsock {

/**
 * Reads MessagePack as far as JSON has the same: nil, booleans, whole numbers that JavaScript holds exactly, texts, lists, and maps by texts.
 * Whatever else comes, or comes in a way that JavaScript would show differently (keys that are digits or come twice), is left to a reader that knows
 * all of it: every function then returns false, and what was read before is void. Source: github.com/msgpack/msgpack, spec.md.
 */
class MsgpackReader {
 public:
  explicit MsgpackReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool atEnd() const { return at_ == bytes_.size(); }
  bool readMapHead(std::size_t& count);
  /** A text that is valid UTF-8, in the bytes themselves. */
  bool readText(std::string_view& text);
  bool readBoolean(bool& value);
  /** The next value as JSON, behind what `json` holds. */
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
  /** Keys of the maps that are being read, the innermost last. */
  std::vector<std::string_view> keys_;
};

}  // namespace workspace::vsock
