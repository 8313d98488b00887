// Executes a program that reads hostile bytes, after giving up everything that reading does not need:
//
//   workspace-confine [--read PATH | --write PATH | --data BYTES | --file BYTES | --cpu SECONDS | --open FILES]... -- PROGRAM [ARGUMENT...]
//   workspace-confine --check
//
// The program can read only the paths and the system's own files, write only what `--write` names, and start no
// program, process or connection (call-filter.h, landlock.h). Limits are those of setrlimit(2) and cannot be raised
// again. `--check` prints the kernel's Landlock version, 0 for none: files are then not restricted. Exits with 64 for
// bad arguments, and with 70 when a restriction cannot be set: the program never runs with fewer.

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "call-filter.h"
#include "landlock.h"

namespace workspace::confine {

namespace {

constexpr int USAGE = 64;
constexpr int FAILED = 70;

/** Libraries, time zones and facts about the machine that programs look up. None of it is a user's secret. */
const char* const SYSTEM[] = {
    "/usr",           "/bin",          "/sbin",           "/lib",
    "/lib32",         "/lib64",        "/libx32",         "/nix/store",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/openssl.cnf", "/proc/self",
    "/proc/meminfo",  "/proc/cpuinfo", "/proc/stat",      "/sys/devices/system/cpu",
    "/sys/fs/cgroup", "/dev/random",   "/dev/urandom",    "/dev/zero",
};

int fail(const char* what, int error) {
  std::fprintf(stderr, "workspace-confine: %s: %s\n", what, std::strerror(error));
  return FAILED;
}

struct Limit {
  int resource;
  rlim_t value;
};

/**
 * Drops all capabilities except root's access to files of others, which Landlock still limits. Source:
 * capabilities(7).
 */
int dropCapabilities() {
  constexpr unsigned KEPT = 1u << 1 | 1u << 2;  // CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
  for (int each = 0; each < 64; each++)
    if (each > 2 || each == 0) prctl(PR_CAPBSET_DROP, each, 0, 0, 0);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  struct Header {
    std::uint32_t version;
    int pid;
  } header{0x20080522, 0};
  struct Set {
    std::uint32_t effective;
    std::uint32_t permitted;
    std::uint32_t inheritable;
  } sets[2]{};
  if (syscall(SYS_capget, &header, sets) < 0) return errno;
  const Set kept[2] = {{sets[0].effective & KEPT, sets[0].permitted & KEPT, 0}, {0, 0, 0}};
  return syscall(SYS_capset, &header, kept) < 0 ? errno : 0;
}

/**
 * Copies a path to an unguessable address: 47 random bits, except where the kernel's rules fix them. Returns nullptr
 * on failure.
 */
char* hide(const char* path) {
  const std::size_t length = std::strlen(path) + 1;
  const std::size_t bytes = (length + 2 * 4096) & ~std::size_t{4095};
  for (int attempt = 0; attempt < 64; attempt++) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return nullptr;
    const std::uint64_t page = (random & 0x7fffffffffff) & ~std::uint64_t{4095};
    const std::uint64_t offset = (random >> 48) & 4095;
    void* const at = mmap(reinterpret_cast<void*>(page), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) continue;
    if (at == reinterpret_cast<void*>(page)) return std::strcpy(static_cast<char*>(at) + offset, path);
    munmap(at, bytes);
  }
  return nullptr;
}

int run(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--check") return std::printf("%d\n", landlockVersion()) > 0 ? 0 : FAILED;
  std::vector<std::string> readable(std::begin(SYSTEM), std::end(SYSTEM));
  std::vector<std::string> writable{"/dev/null"};
  std::vector<Limit> limits{{RLIMIT_CORE, 0}};
  int at = 1;
  for (; at + 1 < argc && std::string_view(argv[at]) != "--"; at += 2) {
    const std::string_view name = argv[at];
    const char* const value = argv[at + 1];
    if (name == "--read") readable.emplace_back(value);
    else if (name == "--write") writable.emplace_back(value);
    else if (name == "--data") limits.push_back({RLIMIT_DATA, std::strtoull(value, nullptr, 10)});
    else if (name == "--file") limits.push_back({RLIMIT_FSIZE, std::strtoull(value, nullptr, 10)});
    else if (name == "--cpu") limits.push_back({RLIMIT_CPU, std::strtoull(value, nullptr, 10)});
    else if (name == "--open") limits.push_back({RLIMIT_NOFILE, std::strtoull(value, nullptr, 10)});
    else return USAGE;
  }
  if (at + 1 >= argc) return USAGE;
  char** const program = argv + at + 1;
  readable.emplace_back(program[0]);
  for (const auto& [resource, value] : limits) {
    rlimit now{};
    if (getrlimit(resource, &now) < 0) return fail("cannot read a limit", errno);
    // A stricter limit of the caller remains in force.
    const rlim_t least = now.rlim_max < value ? now.rlim_max : value;
    const rlimit set{least, least};
    if (setrlimit(resource, &set) < 0) return fail("cannot set a limit", errno);
  }
  if (const int error = restrictFiles({readable, writable})) return fail("cannot restrict files", error);
  char* const path = hide(program[0]);
  if (path == nullptr) return fail("out of memory", errno);
  if (const int error = dropCapabilities()) return fail("cannot drop capabilities", error);
  if (const int error = installCallFilter(path)) return fail("cannot filter system calls", error);
  execve(path, program, environ);
  return fail(program[0], errno);
}

}  // namespace

}  // namespace workspace::confine

int main(int argc, char** argv) {
  return workspace::confine::run(argc, argv);
}
