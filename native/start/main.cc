// Does what the guest's agent cannot do from Node, as a separate program. One of:
//
//   workspace-start program UID GID GROUPS DIRECTORY pipes|terminal PROGRAM [ARGUMENT...]
// executes the program, as leader of a separate session, as that user; GROUPS are numbers separated by commas, or
// "-". With
//     `terminal`, standard input is a terminal and becomes the session's. If the directory does not exist, / is used.
//   workspace-start address INTERFACE ADDRESS PREFIX_LENGTH GATEWAY
//     gives a network interface its address; "-" means no gateway.
//   workspace-start clock MILLISECONDS
//     sets the system's clock to a time since 1970 in UTC.
//   workspace-start mac INTERFACE ADDRESS
//     sets a network interface's MAC address.
//   workspace-start reseed
//     seeds the kernel's random numbers again, from what was written to /dev/urandom.
//
// Exits like the program, else with 64 for bad arguments and 70 on failure.

#include <fcntl.h>
#include <grp.h>
#include <linux/random.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "../run/program.h"
#include "address.h"

namespace workspace::start {

namespace {

constexpr int USAGE = 64;
constexpr int FAILED = 70;

int fail(const char* what) {
  std::fprintf(stderr, "workspace-start: %s: %s\n", what, std::strerror(errno));
  return FAILED;
}

template <typename Number = unsigned int>
std::optional<Number> parseNumber(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::vector<gid_t>> parseGroups(std::string_view text) {
  std::vector<gid_t> groups;
  if (text == "-") return groups;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto number = parseNumber(text.substr(0, comma));
    if (!number) return std::nullopt;
    groups.push_back(*number);
    if (comma == std::string_view::npos) return groups;
    text.remove_prefix(comma + 1);
  }
}

/** Resets the out-of-memory protection of the agent, which programs must not inherit. */
void forgetPrivileges() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  if (write(file, "0", 1) < 0) std::fputs("workspace-start: the program keeps the agent's out-of-memory score\n", stderr);
  close(file);
}

int becomeUser(unsigned int uid, unsigned int gid, const std::vector<gid_t>& groups, bool hasTerminal) {
  if (hasTerminal) {
    if (ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0) return fail("cannot acquire the terminal");
    // Like sshd: the user's programs reopen it.
    if (fchown(STDIN_FILENO, uid, static_cast<gid_t>(-1)) < 0 || fchmod(STDIN_FILENO, 0620) < 0) return fail("cannot change the terminal's owner");
  }
  if (setgroups(groups.size(), groups.data()) < 0 || setgid(gid) < 0 || setuid(uid) < 0) return fail("cannot change the user");
  return 0;
}

int runProgram(std::span<char*> arguments) {
  const auto uid = parseNumber(arguments[0]);
  const auto gid = parseNumber(arguments[1]);
  const auto groups = parseGroups(arguments[2]);
  const std::string_view mode = arguments[4];
  if (!uid || !gid || !groups || (mode != "pipes" && mode != "terminal")) return USAGE;
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // Ignored by the agent; programs expect the default.
  std::signal(SIGPIPE, SIG_DFL);
  setsid();
  forgetPrivileges();
  if (const int status = becomeUser(*uid, *gid, *groups, mode == "terminal")) return status;
  if (chdir(arguments[3]) < 0 && chdir("/") < 0) return fail("cannot change the directory");
  run::executeProgram(arguments.subspan(5).data());
}

int setAddressOf(std::span<char*> arguments) {
  const auto prefixLength = parseNumber(arguments[2]);
  if (!prefixLength) return USAGE;
  errno = setAddress(arguments[0], arguments[1], static_cast<int>(*prefixLength), arguments[3]);
  return errno == 0 ? 0 : fail(arguments[0]);
}

int setClock(std::string_view text) {
  const auto milliseconds = parseNumber<std::uint64_t>(text);
  if (!milliseconds) return USAGE;
  const timespec time{.tv_sec = static_cast<time_t>(*milliseconds / 1000),
                      .tv_nsec = static_cast<long>(*milliseconds % 1000) * 1'000'000};
  return clock_settime(CLOCK_REALTIME, &time) == 0 ? 0 : fail("cannot set the clock");
}

int setMacOf(std::span<char*> arguments) {
  errno = setMac(arguments[0], arguments[1]);
  return errno == 0 ? 0 : fail(arguments[0]);
}

// Source: random(4); the kernel uses what was written to /dev/urandom from then on.
int reseed() {
  const int device = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
  if (device < 0) return fail("/dev/urandom");
  const bool isSeeded = ioctl(device, RNDRESEEDCRNG) == 0;
  const int status = isSeeded ? 0 : fail("cannot seed the random numbers");
  close(device);
  return status;
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 2) return USAGE;
  const std::string_view what = arguments[1];
  const auto rest = arguments.subspan(2);
  if (what == "program" && rest.size() >= 6) return runProgram(rest);
  if (what == "address" && rest.size() == 4) return setAddressOf(rest);
  if (what == "clock" && rest.size() == 1) return setClock(rest[0]);
  if (what == "mac" && rest.size() == 2) return setMacOf(rest);
  if (what == "reseed" && rest.empty()) return reseed();
  return USAGE;
}

}  // namespace

}  // namespace workspace::start

// argv[argc] is a null pointer, which terminates the program's list too.
int main(int argc, char** argv) { return workspace::start::run(std::span(argv, static_cast<std::size_t>(argc))); }
