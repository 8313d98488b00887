#include "modules.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "console.h"

namespace workspace::init {

namespace {

void loadModule(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  // A module for hardware that this VM does not have is not an error.
  if (file < 0 || (syscall(SYS_finit_module, file, "", 0) < 0 && errno != EEXIST && errno != ENODEV))
    report("module %s could not be loaded: %s", path, std::strerror(errno));
  if (file >= 0) close(file);
}

}  // namespace

void loadModules(const char* list) {
  FILE* const file = std::fopen(list, "re");
  if (file == nullptr) return;
  std::array<char, 512> line;
  while (std::fgets(line.data(), line.size(), file) != nullptr) {
    line[std::strcspn(line.data(), "\n")] = '\0';
    if (line[0] != '\0') loadModule(line.data());
  }
  std::fclose(file);
}

}  // namespace workspace::init
