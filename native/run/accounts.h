#pragma once

#include <sys/stat.h>

#include <array>

namespace workspace::run {

/**
 * Files that define users and groups. A process keeps the groups and home directory that they had at its start, so a
 * process that starts programs for later logins must notice when they change.
 */
class Accounts {
 public:
  Accounts() { read(files_); }
  bool haveChanged() const;

 private:
  struct File {
    ino_t inode = 0;
    timespec changed = {};
    bool operator==(const File& other) const {
      return inode == other.inode && changed.tv_sec == other.changed.tv_sec && changed.tv_nsec == other.changed.tv_nsec;
    }
  };
  using Files = std::array<File, 2>;
  static void read(Files& files);

  Files files_ = {};
};

}  // namespace workspace::run
