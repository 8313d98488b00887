#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace workspace::test {

/** A temporary directory that is removed with the object. */
class TempTree {
 public:
  TempTree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "workspace-native-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~TempTree() { std::filesystem::remove_all(path_); }
  TempTree(const TempTree&) = delete;
  TempTree& operator=(const TempTree&) = delete;

  const std::string& path() const { return path_; }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  void directory(const std::string& name) const { std::filesystem::create_directories(at(name)); }
  void file(const std::string& name, std::size_t bytes) const {
    std::ofstream(at(name), std::ios::binary) << std::string(bytes, 'x');
  }

 private:
  std::string path_;
};

}  // namespace workspace::test
