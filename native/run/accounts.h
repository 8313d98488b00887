#pragma once

#include <sys/stat.h>

#include <array>

namespace workspace::run {

/**
 * The files that name users and groups. A process has the groups and the home directory that these said when it was started: one that
 * starts programs for later logins must know when they say something else.
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
