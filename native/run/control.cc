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

constexpr std::string_view MEET_PREFIX = "meet ";
constexpr std::string_view RUN_PREFIX = "run ";
constexpr std::string_view SIGNAL_PREFIX = "signal ";

bool isHexadecimal(char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); }

/** Returns the text before the next space, or the rest without one. */
std::string_view takeField(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

bool isWord(std::string_view field) {
  return field.size() == WORD_LENGTH && std::all_of(field.begin(), field.end(), isHexadecimal);
}

template <typename Number>
bool parseNumber(std::string_view field, Number& number) {
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, number);
  return error == std::errc() && stop == end;
}

Command parseMeet(std::string_view rest) {
  // A trailing space would hide a missing field.
  if (rest.size() != 2 * WORD_LENGTH + 1) return {};
  const std::string_view name = takeField(rest);
  return isWord(name) && isWord(rest) ? Command{.kind = Command::Kind::meet, .name = name, .word = rest} : Command{};
}

Command parseRun(std::string_view rest) {
  Command command = {.kind = Command::Kind::run, .name = takeField(rest), .word = takeField(rest)};
  const std::string_view variables = takeField(rest);
  const bool isValid = isWord(command.name) && isWord(command.word) && parseNumber(variables, command.variables) &&
                       parseNumber(rest, command.bytes) && command.bytes <= MOST_REQUEST_BYTES;
  return isValid ? command : Command{};
}

Command parseSignal(std::string_view rest) {
  Command command = {.kind = Command::Kind::signal};
  return parseNumber(rest, command.signal) && command.signal > 0 && command.signal < NSIG ? command : Command{};
}

ssize_t readSome(int fd, std::span<char> room) {
  ssize_t count = 0;
  do {
    count = ::read(fd, room.data(), room.size());
  } while (count < 0 && errno == EINTR);
  return count;
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

Command parseCommand(std::string_view line) {
  if (line.starts_with(MEET_PREFIX)) return parseMeet(line.substr(MEET_PREFIX.size()));
  if (line.starts_with(RUN_PREFIX)) return parseRun(line.substr(RUN_PREFIX.size()));
  if (line.starts_with(SIGNAL_PREFIX)) return parseSignal(line.substr(SIGNAL_PREFIX.size()));
  return {};
}

Command Control::wait() {
  Command command;
  while (!take(command)) {
    if (!fill()) return {};
  }
  return command;
}

bool Control::fill() {
  std::copy(buffer_.begin() + taken_, buffer_.begin() + length_, buffer_.begin());
  length_ -= taken_;
  taken_ = 0;
  const std::span<char> room = std::span(buffer_).subspan(length_);
  // The server never sends a line longer than the buffer.
  if (room.empty()) return false;
  const ssize_t count = readSome(in_, room);
  if (count <= 0) return false;
  length_ += static_cast<std::size_t>(count);
  return true;
}

bool Control::read(std::span<char> bytes) {
  const std::size_t held = std::min(bytes.size(), length_ - taken_);
  std::copy_n(buffer_.begin() + taken_, held, bytes.begin());
  taken_ += held;
  bytes = bytes.subspan(held);
  while (!bytes.empty()) {
    const ssize_t count = readSome(in_, bytes);
    if (count <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bool Control::take(Command& command) {
  const std::string_view unread = std::string_view(buffer_.data(), length_).substr(taken_);
  const std::size_t end = unread.find('\n');
  if (end == std::string_view::npos) return false;
  command = parseCommand(unread.substr(0, end));
  taken_ += end + 1;
  return true;
}

void Control::send(const char* word, int number) const { print(out_, "%s %d\n", word, number); }
void Control::send(const char* word, int number, int flag) const { print(out_, "%s %d %d\n", word, number, flag); }

}  // namespace workspace::run
