#include "../disk/lock-file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "check.h"
#include "temp-tree.h"

using workspace::disk::lockFile;
using workspace::test::TempTree;

TEST("lockFile grants one exclusive lock or several shared ones") {
  TempTree tree;
  tree.file("lock", 0);
  const std::string path = tree.path() + "/lock";
  const int first = open(path.c_str(), O_RDWR);
  const int second = open(path.c_str(), O_RDWR);
  CHECK(lockFile(first, false) == 0);
  CHECK(lockFile(second, false) == EWOULDBLOCK);
  CHECK(lockFile(second, true) == EWOULDBLOCK);
  CHECK(lockFile(first, true) == 0);
  CHECK(lockFile(second, true) == 0);
  close(first);
  CHECK(lockFile(second, false) == 0);
  close(second);
  CHECK(lockFile(second, false) == EBADF);
}
