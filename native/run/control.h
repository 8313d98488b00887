#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace workspace::run {

/** A command of the server; each is one line. */
struct Command {
  enum class Kind {
    /** `meet NAME WORD`: connect to the socket of that name, and send the word. */
    meet,
    /**
     * `run NAME WORD VARIABLES BYTES`: start the program that the following bytes describe (request.h), with the
     * streams received there.
     */
    run,
    /** `signal N`: send a signal to the program's process group. */
    signal,
    /** The server disconnected, or sent an invalid command. */
    end,
  };
  Kind kind = Kind::end;
  /** Points into the reader's buffer: valid until the next command is taken. */
  std::string_view name = {};
  std::string_view word = {};
  int signal = 0;
  std::size_t variables = 0;
  std::size_t bytes = 0;
};

/** Names and words have this many hexadecimal digits, which makes them unguessable. */
inline constexpr std::size_t WORD_LENGTH = 32;

/** With the usual stack size, a kernel accepts no more for a program's arguments and environment. */
inline constexpr std::size_t MOST_REQUEST_BYTES = 2 << 20;

/** Parses a command line without its newline; `end` for every invalid line. */
Command parseCommand(std::string_view line);

/** A bidirectional stream of the server: reads commands, and writes how the program exited. */
class Control {
 public:
  Control(int in, int out) : in_(in), out_(out) {}

  int descriptor() const { return in_; }
  /** Waits for the next command. */
  Command wait();
  /** Reads once, waiting only if nothing is available; false at the end. */
  bool fill();
  /** Takes a command that was read completely; false if there is none yet. */
  bool take(Command& command);
  /** Reads the bytes that follow a command, however long it takes; false at the end. */
  bool read(std::span<char> bytes);
  /** Sends `WORD A
  ` or `WORD A B
  `. A disconnected server is ignored. */
  void send(const char* word, int number) const;
  void send(const char* word, int number, int flag) const;

 private:
  int in_;
  int out_;
  std::array<char, 256> buffer_ = {};
  std::size_t length_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace workspace::run
