#include "wildcard.h"

#include <cstring>

namespace workspace::text {

namespace {

/** Minimum length from which comparing at every occurrence of the first byte would be too slow in the worst case. */
constexpr std::size_t longPiece = 16;

std::size_t placeOf(std::string_view piece, std::string_view text, std::size_t from) {
  if (piece.size() < longPiece) return text.find(piece, from);
  if (from > text.size()) return std::string_view::npos;
  const void* found = memmem(text.data() + from, text.size() - from, piece.data(), piece.size());
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

/** Like rfind, which compares byte by byte. */
std::size_t lastOf(char wanted, std::string_view text) {
#if defined(__linux__) && !defined(WORKSPACE_PORTABLE)
  const void* found = text.empty() ? nullptr : memrchr(text.data(), wanted, text.size());
  return found == nullptr ? std::string_view::npos : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
#else
  return text.rfind(wanted);
#endif
}

bool isDigit(char each) { return each >= '0' && each <= '9'; }

/** Returns the part after the last "$" of the part after the last slash, without the digits of a local class. */
std::string_view simpleNameOf(std::string_view internalName) {
  const std::string_view name = internalName.substr(lastOf('/', internalName) + 1);
  const std::size_t dollar = lastOf('$', name);
  if (dollar == std::string_view::npos) return name;
  std::size_t at = dollar + 1;
  while (at < name.size() && isDigit(name[at])) at++;
  return at < name.size() ? name.substr(at) : name;
}

}  // namespace

Wildcard::Wildcard(std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  first_ = pattern.substr(0, star);
  if (star == std::string_view::npos) return;
  hasStar_ = true;
  const std::size_t lastStar = pattern.rfind('*');
  last_ = pattern.substr(lastStar + 1);
  for (std::size_t at = star; at < lastStar;) {
    const std::size_t start = at + 1;
    at = pattern.find('*', start);
    if (at > start) pieces_.emplace_back(pattern.substr(start, at - start));
  }
}

bool Wildcard::fits(std::string_view text) const {
  if (!hasStar_) return text == first_;
  if (text.size() < first_.size() + last_.size() || !text.starts_with(first_) || !text.ends_with(last_)) return false;
  const std::string_view inner = text.substr(0, text.size() - last_.size());
  std::size_t at = first_.size();
  for (const std::string& piece : pieces_) {
    at = placeOf(piece, inner, at);
    if (at == std::string_view::npos) return false;
    at += piece.size();
  }
  return true;
}

NamePattern::NamePattern(std::string_view pattern, Part part) : wildcard_(pattern), part_(part), beginsWithStar_(pattern.starts_with('*')) {}

bool NamePattern::fits(std::string_view name) const {
  switch (part_) {
    case Part::whole:
      return wildcard_.fits(name);
    case Part::className:
      return fitsClass(name);
    case Part::package: {
      const std::size_t slash = lastOf('/', name);
      return wildcard_.fits(name.substr(0, slash == std::string_view::npos ? 0 : slash));
    }
    case Part::descriptor:
      return name.size() >= 2 && name.front() == 'L' && fitsClass(name.substr(1, name.size() - 2));
  }
  return false;
}

bool NamePattern::fitsClass(std::string_view name) const {
  return wildcard_.fits(name) || (!beginsWithStar_ && wildcard_.fits(simpleNameOf(name)));
}

}  // namespace workspace::text
