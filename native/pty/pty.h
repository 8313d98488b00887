#pragma once

namespace workspace::pty {

/** A terminal: who owns the near end sees what programs at the far end print, and types for them. */
struct Pty {
  int near = -1;
  int far = -1;
};

/** Makes a terminal of that size. Returns 0 or the error number, with nothing left open. */
int make(int columns, int rows, Pty& made);

/** Gives a terminal another size, by its near end, and tells the programs in it. Returns 0 or the error number. */
int resize(int near, int columns, int rows);

}  // namespace workspace::pty
