#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace workspace::run {

/** What the server says, one line each. */
struct Order {
  enum class Kind {
    /** `meet NAME WORD`: connect to the socket of that name, and say the word. */
    meet,
    /** `run NAME WORD VARIABLES BYTES`: start the program that the next bytes describe (request.h), with the streams that are given there. */
    run,
    /** `signal N`: send it to the program's group. */
    signal,
    /** The server is gone, or said what no server says. */
    end,
  };
  Kind kind = Kind::end;
  /** Into the reader's buffer: good until the next order is taken. */
  std::string_view name = {};
  std::string_view word = {};
  int signal = 0;
  std::size_t variables = 0;
  std::size_t bytes = 0;
};

/** Names and words are this many hexadecimal digits: long enough that nobody guesses one. */
inline constexpr std::size_t WORD_LENGTH = 32;

/** A kernel takes no more for a program's arguments and environment where its stack is as large as usual. */
inline constexpr std::size_t MOST_REQUEST_BYTES = 2 << 20;

/** An order from its line, without the line's end; `end` for every line that is none. */
Order parseOrder(std::string_view line);

/** A stream from the server, and one to it: orders come in, and how the program ended goes out. */
class Control {
 public:
  Control(int in, int out) : in_(in), out_(out) {}

  int descriptor() const { return in_; }
  /** Waits for the next order. */
  Order wait();
  /** Reads once, which waits only when nothing is there; false at the end. */
  bool fill();
  /** Takes an order that has been read whole; false when there is none yet. */
  bool take(Order& order);
  /** Reads what follows an order, however long it takes; false at the end. */
  bool read(std::span<char> bytes);
  /** Says `WORD A\n` or `WORD A B\n`. A server that is gone hears nothing. */
  void say(const char* word, int number) const;
  void say(const char* word, int number, int flag) const;

 private:
  int in_;
  int out_;
  std::array<char, 256> buffer_ = {};
  std::size_t length_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace workspace::run
