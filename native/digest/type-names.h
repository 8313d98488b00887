#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace workspace::digest {

/** Reads the classes that descriptors and signatures name (JVMS §4.3, §4.7.9.1), internal names; malformed text gives what it can. */
template <typename Found>
class TypeNames {
 public:
  /** @param found is told each name, which is valid during the call */
  TypeNames(std::string_view text, Found& found) : text_(text), found_(found) {}

  /** Reads one type from `at` and returns where it ends; always goes on by at least one byte. */
  std::size_t readType(std::size_t at, int depth = 0) {
    if (depth > maxDepth) return text_.size();
    while (is(at, '[')) at++;
    if (is(at, 'T')) return after(at);
    if (!is(at, 'L')) return at + 1;
    const std::size_t name = ++at;
    for (; at < text_.size() && text_[at] != '<' && text_[at] != '.'; at++) {
      if (text_[at] != ';') continue;
      if (at > name) found_(text_.substr(name, at - name));
      return at + 1;
    }
    return readNested(name, at, depth);
  }

  bool is(std::size_t at, char wanted) const { return at < text_.size() && text_[at] == wanted; }

 private:
  /** Type arguments deeper than this are no compiler's. */
  static constexpr int maxDepth = 64;

  /** Goes on with a name that has type arguments: a class nested in a generic one is "Lcom/Outer<TT;>.Inner;". */
  std::size_t readNested(std::size_t start, std::size_t at, int depth) {
    std::string name(text_.substr(start, at - start));
    for (; at < text_.size() && text_[at] != ';'; at++) {
      if (text_[at] != '<') {
        name += text_[at] == '.' ? '$' : text_[at];
        continue;
      }
      at++;
      while (at < text_.size() && text_[at] != '>') {
        const bool isWildcard = text_[at] == '*' || text_[at] == '+' || text_[at] == '-';
        at = isWildcard ? at + 1 : readType(at, depth + 1);
      }
    }
    if (!name.empty()) found_(std::string_view(name));
    return at + 1;
  }

  std::size_t after(std::size_t at) const {
    const std::size_t end = text_.find(';', at);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  std::string_view text_;
  Found& found_;
};

/** The classes in a field's descriptor or signature: calls found(name). */
template <typename Found>
void readField(std::string_view text, Found&& found) {
  TypeNames<Found> names(text, found);
  for (std::size_t at = 0; at < text.size();) at = names.readType(at);
}

/** Where a type stands in a method's signature: a parameter's number, from 0, or `returned`. */
constexpr int returned = -1;

/** The classes in a method's descriptor or signature: calls found(place, name). Returns how many parameters it has. */
template <typename Found>
int readMethod(std::string_view text, Found&& found) {
  int place = 0;
  auto add = [&](std::string_view name) { found(place, name); };
  TypeNames<decltype(add)> names(text, add);
  std::size_t at = std::min(text.find('('), text.size()) + 1;
  for (; at < text.size() && text[at] != ')'; place++) at = names.readType(at);
  const int count = place;
  place = returned;
  if (at + 1 < text.size()) names.readType(at + 1);
  return count;
}

}  // namespace workspace::digest
