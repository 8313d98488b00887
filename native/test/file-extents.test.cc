#include <algorithm>
#include <random>

#include "../disk/counted-again.h"
#include "../disk/extent-memory.h"
#include "check.h"

using namespace workspace::disk;

namespace {

using Extents = std::vector<Extent>;

std::shared_ptr<const PackedExtents> packed(Extents extents) { return std::make_shared<PackedExtents>(extents); }

Extents unpacked(const PackedExtents& extents) {
  Extents all;
  for (ExtentCursor cursor(extents); cursor.next();) all.push_back({cursor.start * 512, cursor.sectors * 512});
  return all;
}

std::uint64_t countedAgain(const std::vector<std::pair<std::uint64_t, Extents>>& lists) {
  std::vector<PlacedExtents> placed;
  for (const auto& [space, extents] : lists) placed.push_back({space, packed(extents)});
  return bytesCountedAgain(placed);
}

/** Sorts all extents of a space, unlike bytesCountedAgain. */
std::uint64_t countedAgainBySorting(Extents extents) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.start < b.start; });
  std::uint64_t again = 0;
  std::uint64_t coveredTo = 0;
  for (const Extent& each : extents) {
    const std::uint64_t end = each.start + each.bytes;
    if (each.start < coveredTo) again += std::min(end, coveredTo) - each.start;
    coveredTo = std::max(coveredTo, end);
  }
  return again;
}

EntryStat fileWith(std::uint64_t inode, std::int64_t changedSeconds) {
  EntryStat entry;
  entry.device = 7;
  entry.inode = inode;
  entry.changedSeconds = changedSeconds;
  entry.logicalBytes = 100;
  entry.physicalBytes = 4096;
  return entry;
}

constexpr std::int64_t noon = 1'800'000'000;
constexpr std::int64_t settled = noon - 3600;
constexpr std::size_t plenty = 1 << 20;

}  // namespace

TEST("bytesCountedAgain counts overlaps within one address space") {
  CHECK(bytesCountedAgain({}) == 0);
  CHECK(countedAgain({{1, {}}}) == 0);
  CHECK(countedAgain({{1, {{0, 4096}}}, {1, {{4096, 4096}}}, {2, {{0, 4096}}}}) == 0);
  CHECK(countedAgain({{1, {{8192, 512}}}, {1, {{8192, 512}}}, {1, {{8192, 512}}}}) == 1024);
  CHECK(countedAgain({{1, {{15 * 512, 10 * 512}, {0, 20 * 512}, {5 * 512, 5 * 512}}}}) == 10 * 512);
}

TEST("bytesCountedAgain agrees with sorting when lists are random") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; round++) {
    // Blocks from sectors to 64 KiB, devices from 1 MiB to 16 TiB, extents from one block to several windows.
    const unsigned blockShift = 9 + random() % 8;
    const std::uint64_t blocks = std::uint64_t{1} << (20 + random() % 25 - blockShift);
    const std::uint64_t longest = std::uint64_t{1} << random() % 21;
    std::vector<PlacedExtents> placed;
    Extents all;
    for (std::size_t list = 0; list < 1 + random() % 20; list++) {
      Extents extents;
      for (std::size_t i = random() % 100; i > 0; i--)
        extents.push_back({(random() % blocks) << blockShift, (1 + random() % longest) << blockShift});
      all.insert(all.end(), extents.begin(), extents.end());
      placed.push_back({9, packed(extents)});
    }
    CHECK(bytesCountedAgain(placed) == countedAgainBySorting(all));
  }
}

TEST("PackedExtents sorts, joins adjacent extents and leaves out impossible ones") {
  CHECK((unpacked(*packed({{4096, 512}, {0, 512}, {512, 1024}})) == Extents{{0, 1536}, {4096, 512}}));
  CHECK((unpacked(*packed({{0, 1024}, {512, 1024}})) == Extents{{0, 1024}, {512, 1024}}));
  CHECK((unpacked(*packed({{1000, 100}})) == Extents{{512, 1024}}));
  CHECK(unpacked(*packed({{0, 0}, {~0ULL, 512}, {512, ~0ULL}, {1ULL << 63, 512}})).empty());
}

TEST("PackedExtents restores its own bytes and refuses changed ones or reads them in order") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 2000; round++) {
    Extents extents;
    for (std::size_t i = random() % 20; i > 0; i--) extents.push_back({random() >> random() % 60, random() >> random() % 60});
    const auto whole = packed(extents);
    const auto again = PackedExtents::restore(whole->bytes());
    CHECK(again != nullptr && unpacked(*again) == unpacked(*whole) && again->sectors() == whole->sectors() &&
          again->usedBits() == whole->usedBits());
    std::vector<std::uint8_t> changed = whole->bytes();
    if (changed.empty()) continue;
    changed[random() % changed.size()] = static_cast<std::uint8_t>(random());
    if (random() % 4 == 0) changed.resize(random() % changed.size());
    const auto other = PackedExtents::restore(changed);
    if (other == nullptr) continue;
    std::uint64_t previous = 0;
    for (ExtentCursor cursor(*other); cursor.next(); previous = cursor.start)
      CHECK(cursor.start >= previous && cursor.sectors > 0 && cursor.start + cursor.sectors <= 1ULL << 54);
    // Anything that was restored can be counted; extents of petabytes take long.
    if (other->sectors() + whole->sectors() < 1 << 20) (void)bytesCountedAgain({{1, other}, {1, whole}});
  }
}

TEST("ExtentMemory finds a file until any of its properties changes") {
  ExtentMemory memory(plenty);
  const EntryStat file = fileWith(1, settled);
  const auto extents = packed({{0, 512}});
  const auto remembers = [&](void (*change)(EntryStat&)) {
    memory.remember(file, extents, noon);
    EntryStat changed = file;
    change(changed);
    return memory.find(changed, noon) == extents;
  };
  CHECK(remembers([](EntryStat&) {}));
  CHECK(!remembers([](EntryStat& entry) { entry.device++; }));
  CHECK(!remembers([](EntryStat& entry) { entry.inode++; }));
  CHECK(!remembers([](EntryStat& entry) { entry.changedSeconds++; }));
  CHECK(!remembers([](EntryStat& entry) { entry.changedNanoseconds++; }));
  CHECK(!remembers([](EntryStat& entry) { entry.logicalBytes++; }));
  CHECK(!remembers([](EntryStat& entry) { entry.physicalBytes++; }));
}

TEST("ExtentMemory remembers nothing of a file that has just changed, and nothing for longer than a day") {
  ExtentMemory memory(plenty);
  const auto extents = packed({{0, 512}});
  for (const std::int64_t ago : {-3600, 0, 1, 60, 119}) {
    memory.remember(fileWith(1, noon - ago), extents, noon);
    CHECK(memory.find(fileWith(1, noon - ago), noon) == nullptr);
  }
  memory.remember(fileWith(1, noon - 121), extents, noon);
  CHECK(memory.find(fileWith(1, noon - 121), noon + 19 * 3600) == extents);
  CHECK(memory.find(fileWith(1, noon - 121), noon + 24 * 3600) == nullptr);
  memory.remember(fileWith(1, settled), extents, noon);
  // The clock was set back.
  CHECK(memory.find(fileWith(1, settled), noon - 1) == nullptr);
}

TEST("ExtentMemory stays within its limit and first forgets what the last walk did not use") {
  ExtentMemory memory(10'000);
  const auto extents = packed({{0, 512}});
  const auto count = [&](std::uint64_t first) {
    int found = 0;
    for (std::uint64_t inode = first; inode < first + 1000; inode++) found += memory.find(fileWith(inode, settled), noon) != nullptr;
    return found;
  };
  const auto fill = [&](std::uint64_t first) {
    for (std::uint64_t inode = first; inode < first + 1000; inode++) memory.remember(fileWith(inode, settled), extents, noon);
  };
  memory.beginWalk();
  fill(0);
  const int room = count(0);
  CHECK(room > 20 && room < 100);
  memory.beginWalk();
  fill(5000);
  CHECK(count(0) == 0 && count(5000) == room);
}

TEST("ExtentMemory restores what it saved, and nothing of a damaged copy") {
  ExtentMemory memory(plenty);
  CHECK(memory.save(noon).empty());
  const auto extents = packed({{0, 512}, {4096, 8192}});
  for (std::uint64_t inode = 0; inode < 10; inode++) memory.remember(fileWith(inode, settled), extents, noon);
  const std::vector<std::uint8_t> saved = memory.save(noon);
  CHECK(!saved.empty());
  // Nothing new.
  CHECK(memory.save(noon).empty());

  ExtentMemory other(plenty);
  CHECK(other.restore(saved));
  for (std::uint64_t inode = 0; inode < 10; inode++) {
    const auto found = other.find(fileWith(inode, settled), noon);
    CHECK(found != nullptr && unpacked(*found) == unpacked(*extents));
  }
  for (std::size_t i = 0; i < saved.size(); i++) {
    ExtentMemory fresh(plenty);
    std::vector<std::uint8_t> damaged = saved;
    damaged[i] ^= 0x10;
    CHECK(!fresh.restore(damaged));
    CHECK(!fresh.restore(std::span(saved).first(i)));
    CHECK(fresh.find(fileWith(0, settled), noon) == nullptr);
  }
}
