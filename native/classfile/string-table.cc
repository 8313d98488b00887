#include "string-table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>

namespace workspace::classfile {

namespace {

struct Secret {
  std::uint64_t first;
  std::uint64_t second;
};

const Secret& secret() {
  static const Secret drawn = [] {
    std::random_device device;
    const auto word = [&device] { return static_cast<std::uint64_t>(device()) << 32 | device(); };
    // Odd, so that no input is multiplied by zero.
    return Secret{word() | 1, word() | 1};
  }();
  return drawn;
}

/** All 128 bits of the product, folded: each bit of either side moves about half of the result's. */
std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

template <typename Word>
std::uint64_t load(const std::uint8_t* from) {
  Word word;
  std::memcpy(&word, from, sizeof(Word));
  return word;
}

/** memcmp for strings that are mostly short, without the call. */
bool isSame(const std::uint8_t* a, std::span<const std::uint8_t> b) {
  const std::size_t size = b.size();
  if (size >= 8) {
    for (std::size_t at = 0; at + 8 <= size; at += 8) {
      if (load<std::uint64_t>(a + at) != load<std::uint64_t>(b.data() + at)) return false;
    }
    return load<std::uint64_t>(a + size - 8) == load<std::uint64_t>(b.data() + size - 8);
  }
  for (std::size_t at = 0; at < size; at++) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

}  // namespace

Hashed hashOf(std::span<const std::uint8_t> bytes) {
  const auto& [first, second] = secret();
  const std::uint8_t* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = second;
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t bits = 0;
  for (; left > 16; left -= 16, at += 16) {
    a = load<std::uint64_t>(at);
    b = load<std::uint64_t>(at + 8);
    bits |= a | b;
    hash = mix(a ^ first, b ^ hash);
  }
  // Two possibly overlapping loads cover the rest.
  if (left >= 8) {
    a = load<std::uint64_t>(at);
    b = load<std::uint64_t>(at + left - 8);
  } else if (left >= 4) {
    a = load<std::uint32_t>(at);
    b = load<std::uint32_t>(at + left - 4);
  } else if (left > 0) {
    a = static_cast<std::uint64_t>(at[0]) << 16 | static_cast<std::uint64_t>(at[left / 2]) << 8 | at[left - 1];
    b = 0;
  }
  // The length comes last: mixed in at first, one bit of the text could make up for it.
  return {mix(first ^ mix(a ^ first, b ^ hash), second ^ bytes.size()), ((bits | a | b) & 0x8080808080808080ULL) == 0};
}

StringTable::StringTable() : slots_(1U << 12, Slot{0, -1}) {}

void StringTable::clear() {
  bytes_.clear();
  offsets_.assign(1, 0);
  std::fill(slots_.begin(), slots_.end(), Slot{0, -1});
}

std::string_view StringTable::at(std::int32_t id) const {
  const auto start = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(id)]);
  const auto end = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(id) + 1]);
  return {reinterpret_cast<const char*>(bytes_.data()) + start, end - start};
}

std::int32_t StringTable::intern(std::span<const std::uint8_t> bytes, std::uint64_t wide) {
  if ((size() + 1) * 4 > slots_.size() * 3) grow();
  const auto hash = static_cast<std::uint32_t>(wide >> 32);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id < 0) {
      if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()) - bytes_.size()) {
        throw std::length_error("the strings of a slice exceed 2 GiB");
      }
      slot = Slot{hash, static_cast<std::int32_t>(size())};
      bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
      offsets_.push_back(static_cast<std::int32_t>(bytes_.size()));
      return slot.id;
    }
    if (slot.hash != hash) continue;
    const std::string_view there = this->at(slot.id);
    if (there.size() == bytes.size() && isSame(reinterpret_cast<const std::uint8_t*>(there.data()), bytes)) return slot.id;
  }
}

void StringTable::grow() {
  std::vector<Slot> wider(slots_.size() * 2, Slot{0, -1});
  const std::size_t mask = wider.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id < 0) continue;
    std::size_t at = slot.hash & mask;
    while (wider[at].id >= 0) at = (at + 1) & mask;
    wider[at] = slot;
  }
  slots_ = std::move(wider);
}

}  // namespace workspace::classfile
