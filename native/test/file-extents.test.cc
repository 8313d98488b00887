#include "../disk/file-extents.h"

#include "check.h"

using workspace::disk::bytesCountedAgain;
using workspace::disk::Extent;

TEST("bytesCountedAgain counts overlaps within one address space") {
  std::vector<Extent> none;
  CHECK(bytesCountedAgain(none) == 0);
  std::vector<Extent> apart{{1, 0, 10}, {1, 10, 10}, {2, 0, 10}};
  CHECK(bytesCountedAgain(apart) == 0);
  std::vector<Extent> thrice{{1, 100, 10}, {1, 100, 10}, {1, 100, 10}};
  CHECK(bytesCountedAgain(thrice) == 20);
  std::vector<Extent> partly{{1, 15, 10}, {1, 0, 20}, {1, 5, 5}};
  CHECK(bytesCountedAgain(partly) == 10);
}
