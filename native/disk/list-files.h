#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::disk {

/** Which files are listed. */
struct ListRule {
  /** How their names end; not empty. */
  std::string ending;
  /** This directory of the root, and what is below it, are left out. */
  std::string skipped;
};

struct ListedFile {
  /** From the root on, with its ending: "demo/A.class". */
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t modifiedSeconds = 0;
  std::uint32_t modifiedNanoseconds = 0;
};

/** A directory or file that could not be read. */
struct ListProblem {
  int number = 0;
  const char* syscall = "";
  /** From the root on; empty for the root. */
  std::string name;
};

struct FileList {
  /** In the order of the bytes of their names without the ending. */
  std::vector<ListedFile> files;
  std::vector<ListProblem> problems;
};

/** Lists the regular files of some kind below a directory. Symbolic links are not followed; what vanishes meanwhile is a problem. */
FileList listFiles(const std::string& root, const ListRule& rule);

}  // namespace workspace::disk
