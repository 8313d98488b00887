#include "landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace workspace::confine {

namespace {

// Declared here because headers of the build machine are often older than the running kernel. Source:
// linux/landlock.h of Linux 6.12.
struct RulesetAttributes {
  std::uint64_t handledFiles;
  std::uint64_t handledNetwork;
  std::uint64_t scoped;
};
struct __attribute__((packed)) PathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};
constexpr long CREATE_RULESET = 444;
constexpr long ADD_RULE = 445;
constexpr long RESTRICT_SELF = 446;
constexpr unsigned ASK_VERSION = 1;
constexpr int RULE_PATH_BENEATH = 1;

constexpr std::uint64_t WRITE_FILE = 1 << 1;
constexpr std::uint64_t READ_FILE = 1 << 2;
constexpr std::uint64_t READ_DIR = 1 << 3;
constexpr std::uint64_t REMOVE_DIR = 1 << 4;
constexpr std::uint64_t REMOVE_FILE = 1 << 5;
constexpr std::uint64_t MAKE_DIR = 1 << 7;
constexpr std::uint64_t MAKE_REG = 1 << 8;
constexpr std::uint64_t REFER = 1 << 13;
constexpr std::uint64_t TRUNCATE = 1 << 14;
constexpr std::uint64_t IOCTL_DEV = 1 << 15;
constexpr std::uint64_t EXECUTE = 1 << 0;
/** All rights of version 1, including those to create devices, pipes, sockets and links. */
constexpr std::uint64_t FIRST_RIGHTS = (1 << 13) - 1;

constexpr std::uint64_t BIND_TCP = 1 << 0;
constexpr std::uint64_t CONNECT_TCP = 1 << 1;
constexpr std::uint64_t SCOPE_ABSTRACT_SOCKETS = 1 << 0;
constexpr std::uint64_t SCOPE_SIGNALS = 1 << 1;

constexpr std::uint64_t READ = READ_FILE | READ_DIR;
constexpr std::uint64_t CHANGE = READ | WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE;
constexpr std::uint64_t OF_FILES = READ_FILE | WRITE_FILE | TRUNCATE;

/** Rights that the kernel can refuse. Execution is left to the call filter, which refuses it entirely. */
RulesetAttributes refusable(int version) {
  RulesetAttributes all{FIRST_RIGHTS & ~EXECUTE, 0, 0};
  if (version >= 2) all.handledFiles |= REFER;
  if (version >= 3) all.handledFiles |= TRUNCATE;
  if (version >= 4) all.handledNetwork = BIND_TCP | CONNECT_TCP;
  if (version >= 5) all.handledFiles |= IOCTL_DEV;
  if (version >= 6) all.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS;
  return all;
}

/** Older kernels refuse a structure longer than theirs. */
std::size_t sizeOf(int version) {
  return version >= 6 ? 24 : version >= 4 ? 16 : 8;
}

int allow(int ruleset, const std::string& path, std::uint64_t rights) {
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : errno;
  struct stat found{};
  PathRule rule{rights, fd};
  int failure = fstat(fd, &found) < 0 ? errno : 0;
  if (!S_ISDIR(found.st_mode)) rule.allowed &= OF_FILES;
  if (failure == 0 && syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, &rule, 0) < 0) failure = errno;
  close(fd);
  return failure;
}

}  // namespace

int landlockVersion() {
  const long version = syscall(CREATE_RULESET, nullptr, 0, ASK_VERSION);
  return version < 0 ? 0 : static_cast<int>(version);
}

int restrictFiles(const Paths& paths) {
  const int version = landlockVersion();
  if (version == 0) return 0;
  const RulesetAttributes attributes = refusable(version);
  const int ruleset = static_cast<int>(syscall(CREATE_RULESET, &attributes, sizeOf(version), 0));
  if (ruleset < 0) return errno;
  int failure = 0;
  for (const std::string& path : paths.readable)
    if (failure == 0) failure = allow(ruleset, path, READ & attributes.handledFiles);
  for (const std::string& path : paths.writable)
    if (failure == 0) failure = allow(ruleset, path, CHANGE & attributes.handledFiles);
  if (failure == 0 && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || syscall(RESTRICT_SELF, ruleset, 0) < 0)) failure = errno;
  close(ruleset);
  return failure;
}

}  // namespace workspace::confine
