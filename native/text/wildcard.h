#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace workspace::text {

/**
 * A pattern in which `*` stands for any text; without one the text must be the pattern. Takes time in proportion to the text
 * for each piece between the stars, whatever the pattern (threat A6).
 */
class Wildcard {
 public:
  explicit Wildcard(std::string_view pattern);

  bool fits(std::string_view text) const;

 private:
  std::string first_;
  bool hasStar_ = false;
  /** Between two stars; none is empty. */
  std::vector<std::string> pieces_;
  std::string last_;
};

/** Which part of a name a pattern is held against. */
enum class Part {
  whole,
  /** An internal class name, or its simple name. */
  className,
  /** What stands before a class name's last slash. */
  package,
  /** A descriptor's class, as className; other descriptors fit nothing. */
  descriptor,
};
constexpr int partCount = 4;

/** A pattern for names as they stand in class files, with slashes. */
class NamePattern {
 public:
  NamePattern(std::string_view pattern, Part part);

  bool fits(std::string_view name) const;

 private:
  bool fitsClass(std::string_view name) const;

  Wildcard wildcard_;
  Part part_;
  /** What fits the end of a name fits the simple one too. */
  bool beginsWithStar_;
};

}  // namespace workspace::text
