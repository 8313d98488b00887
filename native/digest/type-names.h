#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::digest {

/**
 * Reads the classes in descriptors and signatures (JVMS §4.3, §4.7.9.1) as internal names. Of malformed text it reads
 * what it can.
 */
template <typename Found>
class TypeNames {
 public:
  /** @param found called with each name, which is valid during the call, and its depth in type arguments */
  TypeNames(std::string_view text, Found& found) : text_(text), found_(found) {}

  /** Reads one type at `at` and returns its end; advances by at least one byte. */
  std::size_t readType(std::size_t at, int depth = 0) {
    if (depth > maxDepth) return text_.size();
    while (is(at, '[')) at++;
    if (is(at, 'T')) return after(at);
    if (!is(at, 'L')) return at + 1;
    const std::size_t name = ++at;
    for (; at < text_.size() && text_[at] != '<' && text_[at] != '.'; at++) {
      if (text_[at] != ';') continue;
      if (at > name) found_(text_.substr(name, at - name), depth);
      return at + 1;
    }
    return readNested(name, at, depth);
  }

  bool is(std::size_t at, char wanted) const { return at < text_.size() && text_[at] == wanted; }

 private:
  /** No compiler produces deeper type arguments. */
  static constexpr int maxDepth = 64;

  /** Continues a name with type arguments: a class nested in a generic one is "Lcom/Outer<TT;>.Inner;". */
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
    if (!name.empty()) found_(std::string_view(name), depth);
    return at + 1;
  }

  std::size_t after(std::size_t at) const {
    const std::size_t end = text_.find(';', at);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }

  std::string_view text_;
  Found& found_;
};

/** Calls found(name) for the classes in a field's descriptor or signature. */
template <typename Found>
void readField(std::string_view text, Found&& found) {
  auto add = [&](std::string_view name, int) { found(name); };
  TypeNames<decltype(add)> names(text, add);
  for (std::size_t at = 0; at < text.size();) at = names.readType(at);
}

/**
 * Calls found(name) for the classes in the bounds of the type parameters at the start of a signature. Returns their
 * end.
 */
template <typename Found>
std::size_t readTypeParameters(std::string_view text, Found&& found) {
  if (!text.starts_with('<')) return 0;
  auto add = [&](std::string_view name, int) { found(name); };
  TypeNames<decltype(add)> names(text, add);
  // Identifier ':' bound {':' bound}, until '>'; the first bound may be missing.
  std::size_t at = 1;
  while (at < text.size() && text[at] != '>') {
    at = std::min(text.find(':', at), text.size());
    while (names.is(at, ':')) {
      at++;
      if (at < text.size() && text[at] != ':') at = names.readType(at);
    }
  }
  return std::min(at + 1, text.size());
}

/** Calls found(name) for the classes in the type arguments of a class's supertypes. */
template <typename Found>
void readTypeArguments(std::string_view signature, Found&& found) {
  auto add = [&](std::string_view name, int depth) {
    if (depth > 0) found(name);
  };
  TypeNames<decltype(add)> names(signature, add);
  for (std::size_t at = readTypeParameters(signature, [](std::string_view) {}); at < signature.size();) at = names.readType(at);
}

/** Types in a method's descriptor or signature. */
class MethodText {
 public:
  explicit MethodText(std::string_view text) {
    auto ignore = [](std::string_view, int) {};
    TypeNames<decltype(ignore)> names(text, ignore);
    std::size_t at = std::min(text.find('('), text.size()) + 1;
    while (at < text.size() && text[at] != ')') {
      const std::size_t end = std::min(names.readType(at), text.size());
      parameters.push_back(text.substr(at, end - at));
      at = end;
    }
    if (at + 1 >= text.size()) return;
    returns = text.substr(at + 1, std::min(names.readType(at + 1), text.size()) - at - 1);
  }

  std::vector<std::string_view> parameters;
  std::string_view returns;
};

/** Whether a type of a signature erases to that of a descriptor (JLS §4.6); a type variable may erase to any class. */
inline bool erasesTo(std::string_view type, std::string_view erased) {
  std::size_t to = 0;
  int depth = 0;
  for (std::size_t at = 0; at < type.size(); at++) {
    const char character = type[at];
    if (character == 'T' && (at == 0 || type[at - 1] == '[') && to == at) return to < erased.size() && erased[to] == 'L';
    if (character == '<') depth++;
    if (depth == 0 && (to >= erased.size() || erased[to++] != (character == '.' ? '$' : character))) return false;
    if (character == '>') depth--;
  }
  return to == erased.size();
}

/**
 * Returns the number of a descriptor's parameters before the first one of its signature, which omits compiler-generated
 * ones: an inner class's outer instance and an enum's name in front, a local class's captured variables at the end.
 */
inline std::size_t firstOfSignature(const MethodText& descriptor, const MethodText& signature) {
  if (signature.parameters.size() > descriptor.parameters.size()) return descriptor.parameters.size();
  for (std::size_t first = descriptor.parameters.size() - signature.parameters.size() + 1; first-- > 0;) {
    std::size_t same = 0;
    while (same < signature.parameters.size() && erasesTo(signature.parameters[same], descriptor.parameters[first + same])) same++;
    if (same == signature.parameters.size()) return first;
  }
  return descriptor.parameters.size();
}

/** Position of a type in a method's signature: a parameter's number, from 0, or `returned`. */
constexpr int returned = -1;

/**
 * Calls found(place, name) for the classes in a method's descriptor and, if it has one, its signature, in the order of
 * positions.
 */
template <typename Found>
void readMethod(std::string_view descriptorText, std::string_view signatureText, Found&& found) {
  const MethodText descriptor(descriptorText);
  const MethodText signature(signatureText);
  const std::size_t first = signatureText.empty() ? 0 : firstOfSignature(descriptor, signature);
  for (std::size_t place = 0; place < descriptor.parameters.size(); place++) {
    const auto add = [&](std::string_view name) { found(static_cast<int>(place), name); };
    readField(descriptor.parameters[place], add);
    if (place >= first && place - first < signature.parameters.size()) readField(signature.parameters[place - first], add);
  }
  const auto add = [&](std::string_view name) { found(returned, name); };
  readField(descriptor.returns, add);
  readField(signature.returns, add);
}

}  // namespace workspace::digest
