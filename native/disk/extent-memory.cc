#include "extent-memory.h"

#include <cstring>
#include <iterator>

#include "../archive/inflate.h"

namespace workspace::disk {

namespace {

/** The kernel writes changed data after 30 s, and later if the device is busy. */
constexpr std::int64_t settleSeconds = 120;
constexpr std::int64_t maxAgeSeconds = 24 * 60 * 60;
/** Files expire at different times. */
constexpr std::int64_t ageSpreadSeconds = 4 * 60 * 60;
/** A node of the map, and what the allocator adds. */
constexpr std::size_t bytesPerFile = 176;
/** Saving again is worth it if at least this part is new. */
constexpr std::size_t savedShare = 8;

/** With the version of the format. */
constexpr char magic[8] = {'e', 'x', 't', 'e', 'n', 't', 's', '1'};

struct SavedFile {
  std::uint64_t device;
  std::uint64_t inode;
  std::int64_t changedSeconds;
  std::uint64_t changedNanoseconds;
  std::uint64_t logicalBytes;
  std::uint64_t physicalBytes;
  std::int64_t readAt;
  std::uint64_t extentBytes;
};

bool isFresh(std::int64_t readAt, std::uint64_t inode, std::int64_t now) {
  const auto spread = static_cast<std::int64_t>(inode * 0x9E3779B97F4A7C15ULL % ageSpreadSeconds);
  // A time in the future is from a clock that was set back.
  return readAt <= now && now - readAt < maxAgeSeconds - spread;
}

template <typename Value>
void append(std::vector<std::uint8_t>& bytes, const Value& value) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(&value);
  bytes.insert(bytes.end(), from, from + sizeof value);
}

template <typename Value>
Value read(std::span<const std::uint8_t> bytes) {
  Value value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

void ExtentMemory::beginWalk() {
  const std::lock_guard lock(mutex_);
  walk_++;
}

std::shared_ptr<const PackedExtents> ExtentMemory::find(const EntryStat& entry, std::int64_t now) {
  const std::lock_guard lock(mutex_);
  const auto found = files_.find({entry.device, entry.inode});
  if (found == files_.end()) return nullptr;
  Known& known = found->second;
  const bool isSame =
      known.changedSeconds == entry.changedSeconds && known.changedNanoseconds == entry.changedNanoseconds &&
      known.logicalBytes == entry.logicalBytes && known.physicalBytes == entry.physicalBytes;
  if (!isSame || !isFresh(known.readAt, entry.inode, now)) {
    forget(found);
    return nullptr;
  }
  known.usedInWalk = walk_;
  return known.extents;
}

void ExtentMemory::remember(const EntryStat& entry, std::shared_ptr<const PackedExtents> extents, std::int64_t now) {
  if (entry.changedSeconds > now - settleSeconds) return;
  const std::lock_guard lock(mutex_);
  const File file{entry.device, entry.inode};
  const auto old = files_.find(file);
  if (old != files_.end()) forget(old);
  const Known known{entry.changedSeconds, entry.changedNanoseconds, entry.logicalBytes,   entry.physicalBytes,
                    now,                  walk_,                    std::move(extents)};
  if (!makeRoom(bytesOf(known))) return;
  unsavedBytes_ += bytesOf(known);
  add(file, known);
}

std::vector<std::uint8_t> ExtentMemory::save(std::int64_t now) {
  const std::lock_guard lock(mutex_);
  std::vector<std::uint8_t> saved;
  if (unsavedBytes_ == 0 || unsavedBytes_ < bytes_ / savedShare) return saved;
  unsavedBytes_ = 0;
  saved.reserve(bytes_);
  append(saved, magic);
  for (const auto& [file, known] : files_) {
    if (!isFresh(known.readAt, file.second, now)) continue;
    const std::vector<std::uint8_t>& extents = known.extents->bytes();
    append(saved, SavedFile{file.first, file.second, known.changedSeconds, known.changedNanoseconds,
                            known.logicalBytes, known.physicalBytes, known.readAt, extents.size()});
    saved.insert(saved.end(), extents.begin(), extents.end());
  }
  append(saved, archive::crc32Of(saved));
  return saved;
}

bool ExtentMemory::restore(std::span<const std::uint8_t> saved) {
  constexpr std::size_t crcBytes = sizeof(std::uint32_t);
  if (saved.size() < sizeof magic + crcBytes || std::memcmp(saved.data(), magic, sizeof magic) != 0) return false;
  const auto content = saved.first(saved.size() - crcBytes);
  if (archive::crc32Of(content) != read<std::uint32_t>(saved.last(crcBytes))) return false;
  Files files;
  for (auto rest = content.subspan(sizeof magic); !rest.empty();) {
    if (rest.size() < sizeof(SavedFile)) return false;
    const auto file = read<SavedFile>(rest);
    rest = rest.subspan(sizeof file);
    if (file.extentBytes > rest.size()) return false;
    const auto packed = rest.first(file.extentBytes);
    rest = rest.subspan(file.extentBytes);
    auto extents = PackedExtents::restore({packed.begin(), packed.end()});
    if (extents == nullptr) return false;
    files.insert_or_assign({file.device, file.inode},
                           Known{file.changedSeconds, static_cast<std::uint32_t>(file.changedNanoseconds),
                                 file.logicalBytes, file.physicalBytes, file.readAt, 0, std::move(extents)});
  }
  const std::lock_guard lock(mutex_);
  for (auto& [file, known] : files) {
    if (files_.contains(file)) continue;
    if (!makeRoom(bytesOf(known))) break;
    add(file, std::move(known));
  }
  return true;
}

void ExtentMemory::add(const File& file, Known known) {
  bytes_ += bytesOf(known);
  files_.insert_or_assign(file, std::move(known));
}

ExtentMemory::Files::iterator ExtentMemory::forget(Files::iterator file) {
  bytes_ -= bytesOf(file->second);
  return files_.erase(file);
}

bool ExtentMemory::makeRoom(std::size_t bytes) {
  if (bytes_ + bytes <= maxBytes_) return true;
  if (fullInWalk_ == walk_) return false;
  fullInWalk_ = walk_;
  for (auto file = files_.begin(); file != files_.end();)
    file = file->second.usedInWalk == walk_ ? std::next(file) : forget(file);
  return bytes_ + bytes <= maxBytes_;
}

std::size_t ExtentMemory::bytesOf(const Known& known) { return bytesPerFile + known.extents->bytes().size(); }

}  // namespace workspace::disk
