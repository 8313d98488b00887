// Connects a virtual machine with passt, which opens its connections, and forwards only the frames that the machine
// may send:
//
//   workspace-net-filter SOCKET RULES MAC ADDRESS/LENGTH GATEWAY RESOLVER UID:GID|- -- PASST [ARGUMENT...]
//
// Starts passt with one end of a socket as descriptor 3, waits until it responds, becomes the user, and listens at
// SOCKET for a single connection from QEMU (`-netdev stream`). RULES is read again whenever the file is replaced.
// Exits with the machine or passt:
// with 64 for bad arguments, 70 on failure, 0 after the machine has exited.

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

#include "host-locator.h"
#include "relay.h"

namespace workspace::net_filter {

namespace {

constexpr int USAGE = 64;
constexpr int FAILED = 70;
constexpr int PASST_FD = 3;
constexpr int PASST_START_S = 10;
constexpr int SEND_BUFFER_BYTES = 4 << 20;

int fail(const char* what) {
  std::fprintf(stderr, "workspace-net-filter: %s: %s\n", what, std::strerror(errno));
  return FAILED;
}

struct User {
  bool isOther = false;
  unsigned int uid = 0;
  unsigned int gid = 0;
};

bool parseUser(const char* text, User& user) {
  if (std::strcmp(text, "-") == 0) return true;
  char rest = 0;
  user.isOther = true;
  return std::sscanf(text, "%u:%u%c", &user.uid, &user.gid, &rest) == 2 && user.uid != 0;
}

/**
 * Enlarges the buffer for bursts of frames towards the guest, as passt does for sockets that it opens itself. Not for
 * the other direction: passt drops everything beyond one read, and connections then stall. The kernel's limit is
 * net.core.wmem_max.
 */
void enlarge(int fd) {
  const int bytes = SEND_BUFFER_BYTES;
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/** Starts passt with descriptor 3 and returns the other end; -1 on failure. */
int startPasst(char** argv) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) return -1;
  enlarge(ends[1]);
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child > 0) {
    close(ends[1]);
    return ends[0];
  }
  // A machine's network must not outlive this process.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (ends[1] == PASST_FD) fcntl(PASST_FD, F_SETFD, 0);
  else dup2(ends[1], PASST_FD);
  execv(argv[0], argv);
  std::fprintf(stderr, "workspace-net-filter: %s: %s\n", argv[0], std::strerror(errno));
  _exit(FAILED);
}

/**
 * Sends an ARP request for the gateway, as the guest would, and waits for the reply, which shows that passt is ready.
 */
bool awaitPasst(int fd, const Policy& policy) {
  std::uint8_t frame[LENGTH_BYTES + 42] = {0, 0, 0, 42};
  std::uint8_t* ethernet = frame + LENGTH_BYTES;
  std::memset(ethernet, 0xff, 6);
  std::memcpy(ethernet + 6, policy.mac.data(), 6);
  const std::uint8_t head[] = {0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1};
  std::memcpy(ethernet + 12, head, sizeof head);
  std::memcpy(ethernet + 22, policy.mac.data(), 6);
  const std::uint32_t sender = htonl(policy.address);
  const std::uint32_t target = htonl(policy.gateway);
  std::memcpy(ethernet + 28, &sender, 4);
  std::memcpy(ethernet + 38, &target, 4);
  if (send(fd, frame, sizeof frame, MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof frame)) return false;
  const timeval patience = {PASST_START_S, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  // Reads a complete frame, so that the guest's stream starts with a frame.
  std::uint8_t answer[sizeof frame];
  errno = ECONNRESET;
  return recv(fd, answer, sizeof answer, MSG_WAITALL) == static_cast<ssize_t>(sizeof answer);
}

/** Gives up all privileges that filtering frames does not need. */
bool confine(const User& user) {
  if (user.isOther && (setgroups(0, nullptr) < 0 || setresgid(user.gid, user.gid, user.gid) < 0 || setresuid(user.uid, user.uid, user.uid) < 0))
    return false;
  const rlimit files = {64, 64};
  const rlimit none = {0, 0};
  return setrlimit(RLIMIT_NOFILE, &files) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

int listenAt(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::strcpy(address.sun_path, path);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  umask(0177);
  if (fd < 0 || bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) < 0 || listen(fd, 1) < 0) return -1;
  return fd;
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 10 || std::string_view(arguments[8]) != "--") return USAGE;
  Policy policy;
  User user;
  const auto mac = parseMac(arguments[3]);
  const auto subnet = parsePrefix(arguments[4]);
  const auto gateway = parseAddress(arguments[5]);
  const auto resolver = parseAddress(arguments[6]);
  if (!mac || !subnet || !gateway || !resolver || !parseUser(arguments[7], user)) return USAGE;
  policy.mac = *mac;
  policy.address = subnet->address;
  policy.subnet = *subnet;
  policy.gateway = *gateway;
  policy.resolver = *resolver;

  const int network = startPasst(arguments.data() + 9);
  // The exit of passt is detected through its socket.
  std::signal(SIGCHLD, SIG_IGN);
  if (network < 0) return fail("cannot start passt");
  if (!awaitPasst(network, policy)) return fail("passt does not respond");
  HostLocator locator;
  if (!locator.isOpen()) return fail("cannot query the routing table");
  if (!confine(user)) return fail("cannot drop privileges");
  Rules rules(arguments[2], policy);
  if (!rules.read()) return fail("the rules are not valid or cannot be read");
  const int listener = listenAt(arguments[1]);
  if (listener < 0) return fail(arguments[1]);
  const int guest = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (guest < 0) return fail("the machine did not connect");
  enlarge(guest);
  close(listener);
  unlink(arguments[1]);
  const char* end = relay(guest, network, policy, rules, locator, locator.changes());
  std::fprintf(stderr, "workspace-net-filter: %s\n", end);
  return 0;
}

}  // namespace

}  // namespace workspace::net_filter

int main(int argc, char** argv) {
  return workspace::net_filter::run(std::span(argv, static_cast<std::size_t>(argc)));
}
