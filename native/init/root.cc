#include "root.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "console.h"

namespace workspace::init {

namespace {

/** Removes a directory's content on one file system. Takes ownership of the descriptor. */
void removeContent(int directory, dev_t device) {
  DIR* const entries = fdopendir(directory);
  if (entries == nullptr) return;
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    struct stat kind = {};
    if (name == "." || name == ".." || fstatat(directory, name.c_str(), &kind, AT_SYMLINK_NOFOLLOW) < 0) continue;
    if (kind.st_dev != device) continue;
    if (!S_ISDIR(kind.st_mode)) {
      unlinkat(directory, name.c_str(), 0);
      continue;
    }
    const int below = openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0) continue;
    removeContent(below, device);
    unlinkat(directory, name.c_str(), AT_REMOVEDIR);
  }
  closedir(entries);
}

}  // namespace

void enterRoot(const char* root) {
  for (const char* name : std::array{"/proc", "/sys", "/dev"}) {
    const std::string target = std::string(root) + name;
    mkdir(target.c_str(), 0755);
    if (mount(name, target.c_str(), nullptr, MS_MOVE, nullptr) < 0)
      fail("cannot move %s into the workspace's root: %s", name, std::strerror(errno));
  }
  mkdir((std::string(root) + "/run").c_str(), 0755);
  struct stat own = {};
  // Memory used by files of the initrd would never be freed.
  const int old = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (old >= 0 && fstat(old, &own) == 0) removeContent(old, own.st_dev);
  if (chdir(root) < 0 || mount(".", "/", nullptr, MS_MOVE, nullptr) < 0 || chroot(".") < 0 || chdir("/") < 0)
    fail("cannot switch to the workspace's root: %s", std::strerror(errno));
}

}  // namespace workspace::init
