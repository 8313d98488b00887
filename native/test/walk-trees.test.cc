#include "../disk/walk-trees.h"

#include <cerrno>
#include <thread>

#include "../disk/stat-entry.h"
#include "check.h"
#include "temp-tree.h"

using workspace::disk::EntryStat;
using workspace::disk::statEntry;
using workspace::disk::WalkError;
using workspace::disk::WalkOptions;
using workspace::disk::WalkReport;
using workspace::disk::WalkTotals;
using workspace::disk::walkTrees;
using workspace::test::TempTree;

namespace {

/** Walks one tree; an error of its root counts as the walk's. */
WalkError walkTree(const std::string& root, const WalkOptions& options, WalkTotals& totals) {
  WalkReport report;
  const WalkError error = walkTrees({root}, options, report);
  totals = report.trees[0].totals;
  return error.number != 0 ? error : report.trees[0].error;
}

std::uint64_t physical(const std::string& path) {
  EntryStat entry;
  return statEntry(AT_FDCWD, path.c_str(), entry) == 0 ? entry.physicalBytes : 0;
}

int openDescriptors() {
  int count = 0;
  for (int fd = 0; fd < 4096; fd++) count += fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
  return count;
}

/** Creates nested directories, with `beside` more in each; step by step, because the path may exceed PATH_MAX. */
void makeDeep(const TempTree& tree, int depth, bool beside) {
  int at = open(tree.path().c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < depth; i++) {
    if (beside) mkdirat(at, "beside", 0755);
    mkdirat(at, "deeper-by-one", 0755);
    const int next = openat(at, "deeper-by-one", O_RDONLY | O_DIRECTORY);
    close(at);
    at = next;
  }
  close(at);
}

}  // namespace

TEST("walkTrees counts files, directories and both sizes") {
  TempTree tree;
  tree.directory("a/b");
  tree.file("a/one", 10);
  tree.file("a/b/two", 5000);
  WalkTotals totals;
  CHECK(walkTree(tree.path(), {}, totals).number == 0);
  CHECK(totals.files == 2);
  CHECK(totals.directories == 3);
  CHECK(totals.logicalBytes == 5010);
  CHECK(totals.physicalBytes == physical(tree.path()) + physical(tree.at("a")) + physical(tree.at("a/b")) +
                                    physical(tree.at("a/one")) + physical(tree.at("a/b/two")));
  CHECK(totals.unreadable == 0);
}

TEST("walkTrees counts a root that is a file") {
  TempTree tree;
  tree.file("one", 7);
  WalkTotals totals;
  CHECK(walkTree(tree.at("one"), {}, totals).number == 0);
  CHECK(totals.files == 1 && totals.directories == 0 && totals.logicalBytes == 7);
}

TEST("walkTrees counts hard links once across directories and threads") {
  TempTree tree;
  for (int d = 0; d < 20; d++) tree.directory("d" + std::to_string(d));
  tree.file("d0/original", 100);
  for (int d = 1; d < 20; d++) {
    CHECK(link(tree.at("d0/original").c_str(), tree.at("d" + std::to_string(d) + "/link").c_str()) == 0);
  }
  WalkOptions options;
  options.threads = 4;
  WalkTotals totals;
  CHECK(walkTree(tree.path(), options, totals).number == 0);
  CHECK(totals.files == 1 && totals.logicalBytes == 100);
}

TEST("walkTrees follows no symlink") {
  TempTree tree;
  tree.directory("real");
  tree.file("real/file", 3);
  CHECK(symlink("real", tree.at("to-directory").c_str()) == 0);
  CHECK(symlink("..", tree.at("real/loop").c_str()) == 0);
  CHECK(symlink("nowhere", tree.at("dangling").c_str()) == 0);
  WalkTotals totals;
  CHECK(walkTree(tree.path(), {}, totals).number == 0);
  CHECK(totals.files == 4 && totals.directories == 2);
  CHECK(totals.logicalBytes == 3 + 4 + 2 + 7);
}

TEST("walkTrees reports a missing root") {
  WalkTotals totals;
  const WalkError error = walkTree("/nowhere/at/all", {}, totals);
  CHECK(error.number == ENOENT);
  CHECK(error.path == "/nowhere/at/all");
  CHECK(std::string(error.syscall).size() > 0);
}

TEST("walkTrees goes deeper than PATH_MAX and leaks no descriptor") {
  TempTree tree;
  makeDeep(tree, 1000, false);
  const int before = openDescriptors();
  WalkTotals totals;
  CHECK(walkTree(tree.path(), {}, totals).number == 0);
  CHECK(totals.directories == 1001);
  CHECK(openDescriptors() == before);
}

TEST("walkTrees reopens directories when few may stay open") {
  TempTree tree;
  makeDeep(tree, 200, true);
  const int before = openDescriptors();
  for (const int limit : {0, 1, 7}) {
    WalkOptions options;
    options.openDirectories = limit;
    options.threads = 2;
    WalkTotals totals;
    CHECK(walkTree(tree.path(), options, totals).number == 0);
    CHECK(totals.directories == 401);
    CHECK(totals.unreadable == 0);
  }
  CHECK(openDescriptors() == before);
}

TEST("walkTrees fails with ECANCELED when cancelled") {
  TempTree tree;
  tree.file("one", 1);
  const std::atomic<bool> cancelled{true};
  WalkOptions options;
  options.cancelled = &cancelled;
  WalkTotals totals;
  CHECK(walkTree(tree.path(), options, totals).number == ECANCELED);
}

TEST("walkTrees tolerates entries that vanish") {
  TempTree tree;
  for (int d = 0; d < 20; d++) tree.directory("d" + std::to_string(d));
  std::atomic<bool> done{false};
  std::thread churn([&] {
    for (int round = 0; !done; round++) {
      const std::string name = tree.at("d" + std::to_string(round % 20) + "/inner");
      mkdir(name.c_str(), 0755);
      close(open((name + "/file").c_str(), O_CREAT | O_WRONLY, 0644));
      unlink((name + "/file").c_str());
      rmdir(name.c_str());
    }
  });
  for (int i = 0; i < 300; i++) {
    WalkTotals totals;
    CHECK(walkTree(tree.path(), {}, totals).number == 0);
    CHECK(totals.directories >= 21 && totals.unreadable == 0);
  }
  done = true;
  churn.join();
}

TEST("walkTrees fails with EMFILE when descriptors are exhausted") {
  TempTree tree;
  tree.directory("a");
  std::vector<int> taken;
  for (int fd = 0; (fd = open("/dev/null", O_RDONLY)) >= 0;) taken.push_back(fd);
  WalkTotals totals;
  const WalkError error = walkTree(tree.path(), {}, totals);
  for (const int fd : taken) close(fd);
  CHECK(error.number == EMFILE);
  CHECK(error.path == tree.path());
}

TEST("walkTrees counts unreadable directories") {
  TempTree tree;
  tree.directory("closed/inner");
  tree.directory("listed-only");
  tree.file("listed-only/file", 1);
  chmod(tree.path().c_str(), 0755);
  const std::uint64_t size = physical(tree.path()) + physical(tree.at("closed")) + physical(tree.at("listed-only"));
  chmod(tree.at("closed").c_str(), 0);
  chmod(tree.at("listed-only").c_str(), 0644);
  // Root can read everything, so it switches to a user without files; threads = 1 because Linux keeps user ids per
  // thread.
  const bool isRoot = geteuid() == 0;
  if (isRoot) chmod(tree.at("listed-only").c_str(), 0744);
  if (isRoot) CHECK(seteuid(65534) == 0);
  WalkOptions options;
  options.threads = 1;
  WalkTotals totals;
  WalkTotals none;
  const WalkError error = walkTree(tree.path(), options, totals);
  const WalkError closed = walkTree(tree.at("closed"), options, none);
  if (isRoot) CHECK(seteuid(0) == 0);
  chmod(tree.at("closed").c_str(), 0755);
  chmod(tree.at("listed-only").c_str(), 0755);
  CHECK(error.number == 0);
  CHECK(totals.unreadable == 2);
  CHECK(totals.firstUnreadable.starts_with(tree.path() + "/"));
  CHECK(totals.directories == 3 && totals.files == 0 && totals.physicalBytes == size);
  CHECK(closed.number == EACCES);
  CHECK(closed.path == tree.at("closed"));
}

TEST("walkTrees counts a file with names in two trees in both and reports it as shared") {
  TempTree tree;
  tree.directory("one");
  tree.directory("two");
  tree.file("one/file", 100000);
  CHECK(link(tree.at("one/file").c_str(), tree.at("two/name").c_str()) == 0);
  CHECK(link(tree.at("one/file").c_str(), tree.at("two/again").c_str()) == 0);
  WalkReport report;
  CHECK(walkTrees({tree.at("one"), tree.at("two"), tree.at("missing")}, {}, report).number == 0);
  CHECK(report.trees[0].totals.logicalBytes == 100000);
  CHECK(report.trees[1].totals.logicalBytes == 100000 && report.trees[1].totals.files == 1);
  CHECK(report.trees[2].error.number == ENOENT);
  CHECK(report.sharedBytes == physical(tree.at("one/file")));
}

TEST("walkTrees counts many trees separately") {
  TempTree tree;
  std::vector<std::string> roots;
  for (std::size_t i = 0; i < 300; i++) {
    tree.directory("t" + std::to_string(i));
    tree.file("t" + std::to_string(i) + "/file", i);
    roots.push_back(tree.at("t" + std::to_string(i)));
  }
  std::atomic<std::uint64_t> seen{0};
  WalkOptions options;
  options.threads = 4;
  options.seen = &seen;
  WalkReport report;
  CHECK(walkTrees(roots, options, report).number == 0);
  for (std::size_t i = 0; i < roots.size(); i++) CHECK(report.trees[i].totals.logicalBytes == i);
  CHECK(seen == 600);
}

// Regression: every level below the limit was reopened from the deepest open one, so 4,000 levels took as many
// seconds.
TEST("walkTrees reopens few directories when thousands of levels have siblings") {
  TempTree tree;
  makeDeep(tree, 3000, true);
  WalkTotals totals;
  CHECK(walkTree(tree.path(), {}, totals).number == 0);
  CHECK(totals.directories == 6001 && totals.unreadable == 0);
}
