#include "string-pool.h"

#include <cstring>

namespace workspace::digest {

namespace {

/** 32-bit FNV-1a, with its high bits folded into the low ones, which depend little on the first bytes. */
std::uint32_t hashOf(std::string_view text) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char each : text) hash = (hash ^ static_cast<std::uint8_t>(each)) * 0x01000193;
  return hash ^ hash >> 15;
}

}  // namespace

StringPool::StringPool() : slots_(1U << 13, -1) {}

std::int32_t StringPool::idOf(std::string_view text) {
  if ((size() + 1) * 2 > slots_.size()) grow();
  const std::uint32_t hash = hashOf(text);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at] >= 0; at = (at + 1) & mask) {
    const std::int32_t id = slots_[at];
    if (static_cast<std::uint32_t>(hashes_[static_cast<std::size_t>(id)]) == hash && equals(id, text)) return id;
  }
  const auto id = static_cast<std::int32_t>(size());
  slots_[at] = id;
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  offsets_.push_back(static_cast<std::int32_t>(bytes_.size()));
  hashes_.push_back(static_cast<std::int32_t>(hash));
  return id;
}

bool StringPool::equals(std::int32_t id, std::string_view text) const {
  const auto start = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(id)]);
  const auto end = static_cast<std::size_t>(offsets_[static_cast<std::size_t>(id) + 1]);
  return end - start == text.size() && (text.empty() || std::memcmp(bytes_.data() + start, text.data(), text.size()) == 0);
}

void StringPool::grow() {
  slots_.assign(slots_.size() * 2, -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t id = 0; id < hashes_.size(); id++) {
    std::size_t at = static_cast<std::uint32_t>(hashes_[id]) & mask;
    while (slots_[at] >= 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::int32_t>(id);
  }
}

}  // namespace workspace::digest
