#include "signature.h"

#include <cstddef>

namespace workspace::classfile {

namespace {

constexpr std::size_t maxDepth = 64;

class SignatureWalk {
 public:
  explicit SignatureWalk(std::string_view text) : text_(text) {}

  std::vector<std::string> classes() {
    if (text_.starts_with('<')) {
      at_ = 1;
      // Identifier ':' bound {':' bound}, until '>'; an identifier may hold an L.
      while (at_ < text_.size() && text_[at_] != '>') {
        const std::size_t colon = text_.find(':', at_);
        if (colon == std::string_view::npos) return std::move(found_);
        at_ = colon;
        while (at_ < text_.size() && text_[at_] == ':') {
          at_++;
          if (at_ < text_.size() && text_[at_] == ':') continue;
          if (!type()) return std::move(found_);
        }
      }
      at_++;
    }
    while (at_ < text_.size()) {
      if (text_[at_] == '(' || text_[at_] == ')' || text_[at_] == '^') {
        at_++;
      } else if (!type()) {
        break;
      }
    }
    return std::move(found_);
  }

 private:
  /** Reads one type with nested types; false without one. */
  bool type() {
    do {
      if (!step()) return false;
    } while (!open_.empty());
    return true;
  }

  /** Reads up to the next name's start, end, or list of arguments. */
  bool step() {
    while (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '+' || text_[at_] == '-')) at_++;
    if (at_ >= text_.size()) return false;
    const char first = text_[at_++];
    switch (first) {
      case 'L':
        if (open_.size() == maxDepth) return false;
        open_.emplace_back();
        return name();
      case 'T': {
        const std::size_t end = text_.find(';', at_);
        at_ = end == std::string_view::npos ? text_.size() : end + 1;
        return end != std::string_view::npos;
      }
      case '>':
        if (open_.empty() || at_ >= text_.size()) return false;
        if (text_[at_] == ';') return close();
        if (text_[at_] != '.') return false;
        open_.back() += '$';
        at_++;
        return name();
      default:
        return std::string_view("BCDFIJSZV*").find(first) != std::string_view::npos;
    }
  }

  bool name() {
    for (;;) {
      const std::size_t end = text_.find_first_of(".;<", at_);
      if (end == std::string_view::npos) return false;
      open_.back() += text_.substr(at_, end - at_);
      at_ = end;
      if (text_[at_] == ';') return close();
      at_++;
      if (text_[end] == '<') return true;
      open_.back() += '$';
    }
  }

  bool close() {
    at_++;
    if (!open_.back().empty()) found_.push_back(std::move(open_.back()));
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> classesOfSignature(std::string_view signature) { return SignatureWalk(signature).classes(); }

}  // namespace workspace::classfile
