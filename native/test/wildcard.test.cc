#include "../text/wildcard.h"

#include <string>

#include "check.h"

using workspace::text::NamePattern;
using workspace::text::Part;
using workspace::text::Wildcard;

namespace {

bool fits(const char* pattern, std::string_view text) { return Wildcard(pattern).fits(text); }
bool fits(const char* pattern, Part part, std::string_view name) { return NamePattern(pattern, part).fits(name); }

}  // namespace

TEST("a star matches any text, including the empty text") {
  CHECK(fits("abc", "abc") && !fits("abc", "abcd") && !fits("abc", "ab"));
  CHECK(fits("", "") && !fits("", "a") && fits("*", "") && fits("*", "abc") && fits("**", "abc"));
  CHECK(fits("a*", "a") && fits("a*", "abc") && !fits("a*", "ba"));
  CHECK(fits("*c", "c") && fits("*c", "abc") && !fits("*c", "ca"));
  CHECK(fits("a*c", "ac") && fits("a*c", "abbc") && !fits("a*c", "a") && !fits("ab*bc", "abc"));
  CHECK(fits("*b*d*", "abcde") && !fits("*d*b*", "abcde") && fits("a*b**c*d", "abcd") && !fits("*bc*cd*", "abcd"));
}

TEST("A6 a pattern of long pieces takes time proportional to the text") {
  const std::string text(60000, 'a');
  const std::string piece(20000, 'a');
  CHECK(!fits(("*" + piece + "b*").c_str(), text));
  CHECK(fits(("*" + piece + "*" + piece + "*").c_str(), text));
  std::string stars;
  for (int i = 0; i < 1000; i++) stars += "*a";
  CHECK(!fits((stars + "*b").c_str(), text));
}

TEST("a class pattern matches the full or simple name, a package pattern the part before the name") {
  CHECK(fits("java/util/Map*", Part::className, "java/util/Map$Entry"));
  CHECK(fits("Entry", Part::className, "java/util/Map$Entry") && !fits("Map", Part::className, "java/util/Map$Entry"));
  CHECK(fits("Local", Part::className, "a/Outer$1Local") && fits("Outer$1", Part::className, "a/Outer$1") && !fits("1", Part::className, "a/Outer$1"));
  CHECK(fits("Plain", Part::className, "Plain") && fits("*lain", Part::className, "a/Plain"));
  CHECK(fits("java/util", Part::package, "java/util/Map") && !fits("java", Part::package, "java/util/Map") && fits("", Part::package, "Plain"));
  CHECK(fits("Map", Part::descriptor, "Ljava/util/Map;") && !fits("*", Part::descriptor, "[I") && !fits("*", Part::descriptor, "L"));
}
