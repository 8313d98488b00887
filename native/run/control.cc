#include "control.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <span>

namespace workspace::run {

namespace {

constexpr std::string_view MEET = "meet ";
constexpr std::string_view SIGNAL = "signal ";

bool isHexadecimal(char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); }

Order parseMeet(std::string_view rest) {
  if (rest.size() != 2 * WORD_LENGTH + 1 || rest[WORD_LENGTH] != ' ') return {};
  const std::string_view name = rest.substr(0, WORD_LENGTH);
  const std::string_view word = rest.substr(WORD_LENGTH + 1);
  const bool areWords = std::all_of(name.begin(), name.end(), isHexadecimal) &&
                        std::all_of(word.begin(), word.end(), isHexadecimal);
  return areWords ? Order{.kind = Order::Kind::meet, .name = name, .word = word} : Order{};
}

Order parseSignal(std::string_view rest) {
  int number = 0;
  const char* end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data(), end, number);
  if (error != std::errc() || stop != end || number < 1 || number >= NSIG) return {};
  return {.kind = Order::Kind::signal, .signal = number};
}

void writeAll(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

template <typename... Numbers>
void print(int fd, const char* format, Numbers... values) {
  std::array<char, 64> line = {};
  const int length = std::snprintf(line.data(), line.size(), format, values...);
  if (length < 0) return;
  writeAll(fd, std::span(line).first(std::min(static_cast<std::size_t>(length), line.size() - 1)));
}

}  // namespace

Order parseOrder(std::string_view line) {
  if (line.starts_with(MEET)) return parseMeet(line.substr(MEET.size()));
  if (line.starts_with(SIGNAL)) return parseSignal(line.substr(SIGNAL.size()));
  return {};
}

Order Control::wait() {
  Order order;
  while (!take(order)) {
    if (!fill()) return {};
  }
  return order;
}

bool Control::fill() {
  std::copy(buffer_.begin() + taken_, buffer_.begin() + length_, buffer_.begin());
  length_ -= taken_;
  taken_ = 0;
  const std::span<char> room = std::span(buffer_).subspan(length_);
  // A line longer than the buffer is none of the server's.
  if (room.empty()) return false;
  ssize_t count = 0;
  do {
    count = read(in_, room.data(), room.size());
  } while (count < 0 && errno == EINTR);
  if (count <= 0) return false;
  length_ += static_cast<std::size_t>(count);
  return true;
}

bool Control::take(Order& order) {
  const std::string_view unread = std::string_view(buffer_.data(), length_).substr(taken_);
  const std::size_t end = unread.find('\n');
  if (end == std::string_view::npos) return false;
  order = parseOrder(unread.substr(0, end));
  taken_ += end + 1;
  return true;
}

void Control::say(const char* word) const { print(out_, "%s\n", word); }
void Control::say(const char* word, int number) const { print(out_, "%s %d\n", word, number); }
void Control::say(const char* word, int number, int flag) const { print(out_, "%s %d %d\n", word, number, flag); }

}  // namespace workspace::run
