#include "../disk/remove-tree.h"

#include <cerrno>
#include <thread>

#include "check.h"
#include "temp-tree.h"

using workspace::disk::moveToTrash;
using workspace::disk::RemoveError;
using workspace::disk::removeTrash;
using workspace::disk::restoreFromTrash;
using workspace::test::TempTree;

namespace {

bool exists(const std::string& path) {
  struct stat found;
  return lstat(path.c_str(), &found) == 0;
}

int removeAll(const TempTree& tree, const std::string& entry) {
  const std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> removed{0};
  return removeTrash(tree.path(), "uppers", entry, cancelled, removed).number;
}

}  // namespace

TEST("moveToTrash moves an entry, restoreFromTrash restores it, removeTrash deletes it") {
  TempTree tree;
  tree.directory("uppers/demo/inner");
  tree.file("uppers/demo/inner/file", 5);
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  CHECK(!exists(tree.at("uppers/demo")) && exists(tree.at("uppers/.trash-e/inner/file")));
  CHECK(restoreFromTrash(tree.path(), "uppers", ".trash-e", "demo").number == 0);
  CHECK(exists(tree.at("uppers/demo/inner/file")));
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  CHECK(removeAll(tree, ".trash-e") == 0);
  CHECK(!exists(tree.at("uppers/.trash-e")));
  CHECK(removeAll(tree, ".trash-e") == 0);
}

TEST("moveToTrash follows no symlink in any part of a path") {
  TempTree tree;
  tree.directory("victim/demo");
  tree.directory("uppers");
  CHECK(symlink("../victim", tree.at("uppers/link").c_str()) == 0);
  CHECK(symlink("victim", tree.at("linked").c_str()) == 0);
  CHECK(moveToTrash(tree.path(), "uppers", "link", ".trash-e").number == ELOOP);
  CHECK(moveToTrash(tree.path(), "linked", "demo", ".trash-e").number != 0);
  CHECK(moveToTrash(tree.path(), "uppers/link", "demo", ".trash-e").number != 0);
  CHECK(moveToTrash(tree.path(), "../" + tree.path().substr(tree.path().rfind('/') + 1) + "/victim", "demo", ".trash-e").number != 0);
  for (const char* name : {"", ".", "..", "../victim", "link/demo", ".trash-e"})
    CHECK(moveToTrash(tree.path(), "uppers", name, ".trash-e").number != 0);
  CHECK(exists(tree.at("victim/demo")));
}

TEST("removeTrash removes links but not their targets") {
  TempTree tree;
  tree.directory("victim");
  tree.file("victim/file", 1);
  tree.directory("uppers/demo");
  CHECK(symlink("../../victim", tree.at("uppers/demo/link").c_str()) == 0);
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  CHECK(removeAll(tree, ".trash-e") == 0);
  CHECK(exists(tree.at("victim/file")) && !exists(tree.at("uppers/.trash-e")));
}

TEST("removeTrash deletes a tree deeper than PATH_MAX and the descriptor limit") {
  TempTree tree;
  tree.directory("uppers/demo");
  int at = open(tree.at("uppers/demo").c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < 3000; i++) {
    close(openat(at, "file", O_CREAT | O_WRONLY, 0644));
    mkdirat(at, "beside", 0755);
    mkdirat(at, "deeper-by-one", 0755);
    const int next = openat(at, "deeper-by-one", O_RDONLY | O_DIRECTORY);
    close(at);
    at = next;
  }
  close(at);
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  CHECK(removeAll(tree, ".trash-e") == 0);
  CHECK(std::filesystem::is_empty(tree.at("uppers")));
}

TEST("removeTrash deletes a directory of 20,000 files completely") {
  TempTree tree;
  tree.directory("uppers/demo");
  for (int i = 0; i < 20000; i++) close(open(tree.at("uppers/demo/f" + std::to_string(i)).c_str(), O_CREAT | O_WRONLY, 0644));
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  const std::atomic<bool> cancelled{false};
  std::atomic<std::uint64_t> removed{0};
  CHECK(removeTrash(tree.path(), "uppers", ".trash-e", cancelled, removed).number == 0);
  CHECK(removed == 20001);
}

TEST("removeTrash stops when cancelled") {
  TempTree tree;
  tree.directory("uppers/demo");
  CHECK(moveToTrash(tree.path(), "uppers", "demo", ".trash-e").number == 0);
  const std::atomic<bool> cancelled{true};
  std::atomic<std::uint64_t> removed{0};
  CHECK(removeTrash(tree.path(), "uppers", ".trash-e", cancelled, removed).number == ECANCELED);
  CHECK(exists(tree.at("uppers/.trash-e")));
}

TEST("P1 removeTrash touches nothing outside while directories are swapped for links") {
  TempTree tree;
  tree.directory("victim");
  for (int i = 0; i < 20; i++) tree.file("victim/f" + std::to_string(i), 1);
  tree.directory("uppers");
  std::atomic<bool> done{false};
  const std::string trash = tree.at("uppers/.trash-e");
  std::thread attacker([&] {
    for (unsigned n = 0; !done; n++) {
      const std::string aside = tree.at("moved" + std::to_string(n % 2));
      if (rename((trash + "/d").c_str(), aside.c_str()) != 0) continue;
      if (symlink("../../victim", (trash + "/d").c_str()) != 0) continue;
      std::error_code gone;
      std::filesystem::remove_all(aside, gone);
    }
  });
  for (int round = 0; round < 200; round++) {
    tree.directory("uppers/demo/d");
    for (int i = 0; i < 20; i++) tree.file("uppers/demo/d/f" + std::to_string(i), 1);
    moveToTrash(tree.path(), "uppers", "demo", ".trash-e");
    removeAll(tree, ".trash-e");
    std::error_code ignored;
    std::filesystem::remove_all(trash, ignored);
  }
  done = true;
  attacker.join();
  for (int i = 0; i < 20; i++) CHECK(exists(tree.at("victim/f" + std::to_string(i))));
}
