#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace workspace::text {

/**
 * A pattern in which `*` matches any text; a pattern without it must equal the text. Takes time proportional to the
 * text for each piece between stars, for any pattern (threat A6).
 */
class Wildcard {
 public:
  explicit Wildcard(std::string_view pattern);

  bool fits(std::string_view text) const;

 private:
  std::string first_;
  bool hasStar_ = false;
  /** Pieces between two stars; none is empty. */
  std::vector<std::string> pieces_;
  std::string last_;
};

/** Part of a name that a pattern applies to. */
enum class Part {
  whole,
  /** An internal class name, or its simple name. */
  className,
  /** The part before a class name's last slash. */
  package,
  /** A descriptor's class, like className; other descriptors never match. */
  descriptor,
};
constexpr int partCount = 4;

/** A pattern for names as in class files, with slashes. */
class NamePattern {
 public:
  NamePattern(std::string_view pattern, Part part);

  bool fits(std::string_view name) const;

 private:
  bool fitsClass(std::string_view name) const;

  Wildcard wildcard_;
  Part part_;
  /** A pattern that matches the end of a name matches the simple name too. */
  bool beginsWithStar_;
};

}  // namespace workspace::text
