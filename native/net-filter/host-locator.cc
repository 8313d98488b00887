#include "host-locator.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <string>

extern "C" char* if_indextoname(unsigned int index, char* name);

namespace workspace::net_filter {

namespace {

/** Limits memory use during a scan of the whole internet. */
constexpr std::size_t MAX_CACHED = 65'536;

int openNetlink(std::uint32_t groups) {
  const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -1;
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = groups;
  if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  close(fd);
  return -1;
}

std::string classFile(const std::string& interface, const char* file) { return "/sys/class/net/" + interface + "/" + file; }

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

/** Returns a short file's text; '' if there is none. */
std::string readText(const std::string& path) {
  std::string text;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return text;
  std::array<char, 4096> chunk;
  std::size_t count = 0;
  while ((count = std::fread(chunk.data(), 1, chunk.size(), file)) > 0) text.append(chunk.data(), count);
  std::fclose(file);
  return text;
}

/** Whether the host's default route uses this interface. Source: proc(5), /proc/net/route. */
bool hasDefaultRoute(const std::string& interface) {
  const std::string table = readText("/proc/net/route");
  std::size_t at = 0;
  while ((at = table.find('\n', at)) != std::string::npos) {
    at++;
    std::array<char, IFNAMSIZ> name{};
    unsigned int destination = 1;
    unsigned int mask = 1;
    if (std::sscanf(table.c_str() + at, "%15s %x %*x %*x %*d %*d %*d %x", name.data(), &destination, &mask) != 3) continue;
    if (destination == 0 && mask == 0 && interface == name.data()) return true;
  }
  return false;
}

/**
 * Whether an interface connects to other hosts: it has a device or the default route, is a tunnel, a bond or a VLAN,
 * or is
 * a bridge with such a port. Bridges of containers, veth pairs and tap devices do not.
 */
bool isExternal(const std::string& interface, int depth = 0) {
  if (exists(classFile(interface, "device")) || hasDefaultRoute(interface)) return true;
  const std::string flags = readText(classFile(interface, "tun_flags"));
  if (!flags.empty()) return (std::strtoul(flags.c_str(), nullptr, 16) & IFF_TUN) != 0;
  const std::string events = readText(classFile(interface, "uevent"));
  for (const char* type : {"vlan", "bond", "team", "wireguard", "ppp", "wwan", "wlan", "gre", "ipip", "vti", "xfrm", "macvlan"}) {
    if (events.find(std::string("DEVTYPE=") + type + "\n") != std::string::npos) return true;
  }
  if (depth > 4) return false;
  DIR* ports = opendir(classFile(interface, "brif").c_str());
  if (ports == nullptr) return false;
  bool isOut = false;
  while (const dirent* entry = readdir(ports)) {
    if (entry->d_name[0] != '.' && isExternal(entry->d_name, depth + 1)) isOut = true;
  }
  closedir(ports);
  return isOut;
}

}  // namespace

HostLocator::HostLocator()
    : requests_(openNetlink(0)),
      changes_(openNetlink(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_RULE)) {}

HostLocator::~HostLocator() {
  if (requests_ >= 0) close(requests_);
  if (changes_ >= 0) close(changes_);
}

void HostLocator::forget() {
  std::array<char, 16384> ignored;
  // An overflow (ENOBUFS) also means a change.
  while (recv(changes_, ignored.data(), ignored.size(), MSG_DONTWAIT) > 0) {
  }
  cache_.clear();
}

Location HostLocator::find(Address address) {
  const auto found = cache_.find(address);
  if (found != cache_.end()) return found->second;
  if (cache_.size() >= MAX_CACHED) cache_.clear();
  const Location location = ask(address);
  cache_.emplace(address, location);
  return location;
}

Location HostLocator::ask(Address address) {
  struct {
    nlmsghdr header;
    rtmsg route;
    rtattr attribute;
    std::uint32_t destination;
  } request{};
  static_assert(sizeof request == sizeof(nlmsghdr) + sizeof(rtmsg) + sizeof(rtattr) + sizeof(std::uint32_t));
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = ++sequence_;
  request.route.rtm_family = AF_INET;
  request.route.rtm_dst_len = 32;
  request.attribute.rta_type = RTA_DST;
  request.attribute.rta_len = sizeof request.attribute + sizeof request.destination;
  request.destination = htonl(address);
  if (send(requests_, &request, sizeof request, 0) != static_cast<ssize_t>(sizeof request)) return Location::inside;

  alignas(nlmsghdr) std::array<char, 8192> reply;
  while (true) {
    const ssize_t size = recv(requests_, reply.data(), reply.size(), 0);
    if (size < 0) return Location::inside;
    const auto* header = reinterpret_cast<const nlmsghdr*>(reply.data());
    if (!NLMSG_OK(header, static_cast<std::size_t>(size))) return Location::inside;
    if (header->nlmsg_seq != sequence_) continue;
    // Without a route the packet would be dropped.
    if (header->nlmsg_type != RTM_NEWROUTE) return Location::inside;
    const auto* route = static_cast<const rtmsg*>(NLMSG_DATA(header));
    if (route->rtm_type == RTN_LOCAL) return Location::host;
    if (route->rtm_type != RTN_UNICAST) return Location::inside;
    auto left = static_cast<std::size_t>(header->nlmsg_len - NLMSG_LENGTH(sizeof *route));
    for (const rtattr* each = RTM_RTA(route); RTA_OK(each, left); each = RTA_NEXT(each, left)) {
      if (each->rta_type != RTA_OIF) continue;
      unsigned int index = 0;
      std::memcpy(&index, RTA_DATA(each), sizeof index);
      std::array<char, IFNAMSIZ> name{};
      return if_indextoname(index, name.data()) != nullptr && isExternal(name.data()) ? Location::outside : Location::inside;
    }
    return Location::inside;
  }
}

}  // namespace workspace::net_filter
