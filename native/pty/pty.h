#pragma once

namespace workspace::pty {

/** A terminal. The owner of the near end reads the output of programs at the far end, and writes their input. */
struct Pty {
  int near = -1;
  int far = -1;
};

/** Creates a terminal of that size. Returns 0 or the errno, with nothing left open. */
int make(int columns, int rows, Pty& made);

/** Resizes a terminal by its near end, and notifies the programs in it. Returns 0 or the errno. */
int resize(int near, int columns, int rows);

}  // namespace workspace::pty
