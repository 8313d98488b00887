#include "disks.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "console.h"

namespace workspace::init {

namespace {

constexpr int LOOKS = 500;
constexpr useconds_t LOOK_EVERY_US = 20'000;

std::vector<std::string> listDisks() {
  std::vector<std::string> names;
  DIR* const directory = opendir("/sys/block");
  if (directory == nullptr) return names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name.starts_with("vd")) names.push_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

bool isReadOnly(const std::string& name) {
  FILE* const file = std::fopen(("/sys/block/" + name + "/ro").c_str(), "re");
  if (file == nullptr) return false;
  const bool answer = std::fgetc(file) == '1';
  std::fclose(file);
  return answer;
}

}  // namespace

Disks findDisks() {
  std::vector<std::string> names = listDisks();
  for (int look = 0; names.size() < 2 && look < LOOKS; look++) {
    usleep(LOOK_EVERY_US);
    names = listDisks();
  }
  if (names.empty()) fail("the kernel found no virtio disk; the VM should have two");
  if (names.size() < 2)
    fail("the kernel found only one virtio disk, %s; the VM should have two, the image and the upper", names[0].c_str());
  const bool isSwapped = !isReadOnly(names[0]) && isReadOnly(names[1]);
  const Disks inOrder = {"/dev/" + names[0], "/dev/" + names[1]};
  return isSwapped ? Disks{inOrder.upper, inOrder.lower} : inOrder;
}

}  // namespace workspace::init
