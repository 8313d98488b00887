#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace workspace::disk {

/** Selects the files to list. */
struct ListRule {
  /** Suffix of their names; not empty. */
  std::string ending;
  /** Directory of the root to skip, with everything below. */
  std::string skipped;
};

struct ListedFile {
  /** Path relative to the root, with the suffix: "demo/A.class". */
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t modifiedSeconds = 0;
  std::uint32_t modifiedNanoseconds = 0;
};

/** A directory or file that could not be read. */
struct ListProblem {
  int number = 0;
  const char* syscall = "";
  /** Path relative to the root; empty for the root. */
  std::string name;
};

struct FileList {
  /** Ordered by the bytes of their names without the suffix. */
  std::vector<ListedFile> files;
  std::vector<ListProblem> problems;
};

/**
 * Lists the matching regular files below a directory. Does not follow symbolic links; an entry that vanishes
 * meanwhile is a problem.
 */
FileList listFiles(const std::string& root, const ListRule& rule);

}  // namespace workspace::disk
