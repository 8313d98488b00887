#include "../archive/extent.h"

#include <cerrno>
#include <fstream>
#include <string>
#include <string_view>

#include "../archive/inflate.h"
#include "check.h"
#include "temp-tree.h"

using namespace workspace::archive;
using workspace::test::TempTree;

namespace {

/** "hello hello hello hello" as raw deflate, compressed with zlib at level 9. */
constexpr std::uint8_t deflated[] = {0xcb, 0x48, 0xcd, 0xc9, 0xc9, 0x57, 0xc8, 0x40, 0x27, 0x01};
constexpr std::string_view text = "hello hello hello hello";

std::span<const std::uint8_t> bytesOf(std::string_view view) { return {reinterpret_cast<const std::uint8_t*>(view.data()), view.size()}; }

/** A local header with a name of one byte and an extra field of two, then the deflated text. */
std::string withHeader() {
  std::string header("PK\3\4", 4);
  header.append(22, '\0');
  header += std::string("\1\0\2\0", 4);
  return header + "nxx" + std::string(reinterpret_cast<const char*>(deflated), sizeof deflated);
}

Extent whole() { return {0, sizeof deflated, text.size(), 8, true, true, crc32Of(bytesOf(text))}; }

const char* readFrom(const std::string& archive, const Extent& extent, std::uint64_t maxBytes = 1000) {
  ExtentReader reader(Source(bytesOf(archive)), maxBytes);
  std::span<const std::uint8_t> bytes;
  const char* fault = reader.read(extent, bytes);
  if (fault == nullptr) CHECK(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()) == text);
  return fault;
}

}  // namespace

TEST("an extent after a local header is inflated and verified") { CHECK(readFrom(withHeader(), whole()) == nullptr); }

TEST("A1 an extent with any wrong size, checksum or missing byte is refused") {
  const std::string archive = withHeader();
  for (std::size_t length = 0; length < archive.size(); length++) CHECK(readFrom(archive.substr(0, length), whole()) != nullptr);
  Extent wrong = whole();
  for (const std::uint64_t bytes : {0ULL, 22ULL, 24ULL, 1001ULL, ~0ULL}) {
    wrong.bytes = bytes;
    CHECK(readFrom(archive, wrong) != nullptr);
  }
  wrong = whole();
  for (const std::uint64_t offset : {1ULL, 1000ULL, ~0ULL, ~0ULL - 29}) {
    wrong.offset = offset;
    CHECK(readFrom(archive, wrong) != nullptr);
  }
  wrong = whole();
  for (const std::uint64_t stored : {0ULL, 9ULL, 11ULL, ~0ULL}) {
    wrong.storedBytes = stored;
    CHECK(readFrom(archive, wrong) != nullptr);
  }
  wrong = whole();
  wrong.crc++;
  CHECK(readFrom(archive, wrong) != nullptr);
  wrong = whole();
  wrong.method = 12;
  CHECK(readFrom(archive, wrong) != nullptr);
}

TEST("File reads a regular file and fails for anything else") {
  TempTree tree;
  std::ofstream(tree.at("archive"), std::ios::binary) << withHeader();
  const File file(tree.at("archive"));
  CHECK(file.failure() == 0);
  ExtentReader reader{Source(file), 1000};
  std::span<const std::uint8_t> bytes;
  CHECK(reader.read(whole(), bytes) == nullptr);
  CHECK(File(tree.at("missing")).failure() == ENOENT);
  CHECK(File(tree.path()).failure() == EISDIR);
}

TEST("F35 a file that shrinks while it is read causes an error") {
  TempTree tree;
  std::ofstream(tree.at("archive"), std::ios::binary) << withHeader();
  const File file(tree.at("archive"));
  CHECK(truncate(tree.at("archive").c_str(), 35) == 0);
  ExtentReader reader{Source(file), 1000};
  std::span<const std::uint8_t> bytes;
  CHECK(reader.read(whole(), bytes) != nullptr);
}
