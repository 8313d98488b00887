#include "../disk/list-files.h"

#include <cerrno>

#include "check.h"
#include "temp-tree.h"

using workspace::disk::FileList;
using workspace::disk::listFiles;
using workspace::disk::ListRule;
using workspace::test::TempTree;

namespace {

const ListRule classes{".class", "META-INF"};

}  // namespace

TEST("listFiles orders files by their names without the suffix") {
  TempTree tree;
  tree.directory("demo/inner");
  tree.file("demo/A$B.class", 7);
  tree.file("demo/A.class", 5);
  tree.file("demo/inner/C.class", 3);
  tree.file("demo/A.java", 1);
  const FileList list = listFiles(tree.path(), classes);
  CHECK(list.problems.empty());
  CHECK(list.files.size() == 3);
  CHECK(list.files[0].name == "demo/A.class");
  CHECK(list.files[0].bytes == 5);
  CHECK(list.files[1].name == "demo/A$B.class");
  CHECK(list.files[2].name == "demo/inner/C.class");
}

TEST("listFiles omits the skipped directory, links and special files") {
  TempTree tree;
  tree.directory("META-INF");
  tree.directory("demo/META-INF");
  tree.directory("demo/Folder.class");
  tree.file("META-INF/A.class", 1);
  tree.file("demo/META-INF/B.class", 1);
  CHECK(symlink("B.class", tree.at("demo/META-INF/Link.class").c_str()) == 0);
  CHECK(symlink(tree.at("demo").c_str(), tree.at("linked").c_str()) == 0);
  const FileList list = listFiles(tree.path(), classes);
  CHECK(list.problems.empty());
  CHECK(list.files.size() == 1);
  CHECK(list.files[0].name == "demo/META-INF/B.class");
}

TEST("listFiles reports modification times") {
  TempTree tree;
  tree.file("A.class", 1);
  const timespec times[2] = {{1'700'000'000, 123'456'789}, {1'700'000'001, 987'654'321}};
  CHECK(utimensat(AT_FDCWD, tree.at("A.class").c_str(), times, 0) == 0);
  const FileList list = listFiles(tree.path(), classes);
  CHECK(list.files[0].modifiedSeconds == 1'700'000'001);
  CHECK(list.files[0].modifiedNanoseconds == 987'654'321);
}

TEST("listFiles reports a missing root") {
  TempTree tree;
  const FileList list = listFiles(tree.at("missing"), classes);
  CHECK(list.files.empty());
  CHECK(list.problems.size() == 1);
  CHECK(list.problems[0].number == ENOENT);
  CHECK(list.problems[0].name.empty());
}
