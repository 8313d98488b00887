#include "accounts.h"

namespace workspace::run {

namespace {

constexpr std::array<const char*, 2> PATHS = {"/etc/passwd", "/etc/group"};

}  // namespace

bool Accounts::haveChanged() const {
  Files now = {};
  read(now);
  return now != files_;
}

void Accounts::read(Files& files) {
  for (std::size_t i = 0; i < files.size(); i++) {
    struct stat status {};
    // A missing file is recorded too: it may appear.
    if (stat(PATHS[i], &status) == 0) files[i] = {status.st_ino, status.st_ctim};
  }
}

}  // namespace workspace::run
