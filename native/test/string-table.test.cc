#include "../classfile/string-table.h"

#include <set>
#include <string>

#include "../classfile/modified-utf8.h"
#include "../classfile/signature.h"
#include "check.h"

using workspace::classfile::appendUtf8;
using workspace::classfile::classesOfSignature;
using workspace::classfile::hashOf;
using workspace::classfile::StringTable;

namespace {

std::span<const std::uint8_t> bytesOf(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

std::string utf8Of(std::string_view modified) {
  std::vector<std::uint8_t> out;
  return appendUtf8(bytesOf(modified), out) ? "malformed" : std::string(out.begin(), out.end());
}

using Names = std::vector<std::string>;

}  // namespace

TEST("a string table gives each string one id, in order") {
  StringTable table;
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < 20000; i++) CHECK(table.intern("string " + std::to_string(i)) == i);
  }
  CHECK(table.at(777) == "string 777");
  CHECK(table.intern("") == 20000);
  table.clear();
  CHECK(table.size() == 0);
  CHECK(table.intern("string 5") == 0);
}

TEST("strings that differ in one bit or in length have other hashes") {
  std::set<std::uint64_t> seen;
  std::size_t strings = 0;
  for (std::size_t length = 0; length < 70; length++) {
    std::string text(length, 'a');
    seen.insert(hashOf(bytesOf(text)).hash);
    strings++;
    for (std::size_t bit = 0; bit < length * 8; bit++) {
      std::string changed = text;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
      seen.insert(hashOf(bytesOf(changed)).hash);
      strings++;
    }
  }
  CHECK(seen.size() == strings);
}

TEST("strings that collide under Java's hash differ in their low bits") {
  std::set<std::uint64_t> buckets;
  for (unsigned i = 0; i < 4096; i++) {
    std::string text;
    for (unsigned bit = 0; bit < 12; bit++) text += (i >> bit & 1) != 0 ? "Aa" : "BB";
    buckets.insert(hashOf(bytesOf(text)).hash >> 32 & 4095);
  }
  // When 4,096 balls are thrown into as many buckets, about 63 % of the buckets are hit.
  CHECK(buckets.size() > 2400);
}

TEST("modified UTF-8 becomes UTF-8, with pairs joined and single surrogates kept") {
  CHECK(utf8Of(std::string_view("a\xC0\x80z", 4)) == std::string_view("a\0z", 3));
  CHECK(utf8Of("\xED\xA0\xBD\xED\xB8\x80") == "\xF0\x9F\x98\x80");
  CHECK(utf8Of("\xED\xA0\xBDx") == "\xED\xA0\xBDx");
  CHECK(utf8Of("\xED\xB8\x80\xED\xA0\xBD") == "\xED\xB8\x80\xED\xA0\xBD");
  CHECK(utf8Of("\xE2\x82\xAC") == "\xE2\x82\xAC");
  for (const char* bad : {"\x80", "\xC3", "\xC3x", "\xE2\x82", "\xE2x\x82", "\xF0\x9F\x98\x80", "\xFF"}) CHECK(utf8Of(bad) == "malformed");
}

TEST("isAscii detects a non-ASCII byte at any position") {
  for (std::size_t length = 0; length < 70; length++) {
    std::string text(length, '\x7F');
    CHECK(hashOf(bytesOf(text)).isAscii);
    for (std::size_t at = 0; at < length; at++) {
      text[at] = '\x80';
      CHECK(!hashOf(bytesOf(text)).isAscii);
      text[at] = '\x7F';
    }
  }
}

TEST("classesOfSignature returns the class names of a signature") {
  CHECK(classesOfSignature("<T:Ljava/lang/Object;L::Ljava/util/List<-TT;>;>Ljava/lang/Object;") ==
        (Names{"java/lang/Object", "java/util/List", "java/lang/Object"}));
  CHECK(classesOfSignature("(I[Ldemo/Outer<*>.Inner<[J>.Deep;TX;)V^Ldemo/ClassFormatError;") == (Names{"demo/Outer$Inner$Deep", "demo/ClassFormatError"}));
}

TEST("classesOfSignature returns the names before the malformed or too deeply nested part") {
  for (const char* bad : {"", "L", "Ljava/util/List", "Ljava/util/List<", "<T", "<T:", "T", ">", "Q", "La;>", "<:::>"}) classesOfSignature(bad);
  CHECK(classesOfSignature("La;Lb") == (Names{"a"}));
  std::string deep;
  for (int i = 0; i < 60000; i++) deep += "La<";
  CHECK(classesOfSignature(deep).empty());
}
