#include "address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/ether.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace workspace::start {

namespace {

bool parse(const char* text, sockaddr& into) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  if (inet_pton(AF_INET, text, &address.sin_addr) != 1) return false;
  std::memcpy(&into, &address, sizeof address);
  return true;
}

sockaddr maskOf(int prefixLength) {
  sockaddr_in mask = {};
  mask.sin_family = AF_INET;
  mask.sin_addr.s_addr = htonl(prefixLength == 0 ? 0 : ~std::uint32_t{0} << (32 - prefixLength));
  sockaddr generic = {};
  std::memcpy(&generic, &mask, sizeof mask);
  return generic;
}

int setInterface(int socket, const char* interface, const char* address, int prefixLength) {
  ifreq request = {};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  if (!parse(address, request.ifr_addr)) return EINVAL;
  if (ioctl(socket, SIOCSIFADDR, &request) < 0) return errno;
  request.ifr_netmask = maskOf(prefixLength);
  if (ioctl(socket, SIOCSIFNETMASK, &request) < 0) return errno;
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  return ioctl(socket, SIOCSIFFLAGS, &request) < 0 ? errno : 0;
}

int setDefaultRoute(int socket, const char* gateway) {
  if (std::strcmp(gateway, "-") == 0) return 0;
  rtentry route = {};
  if (!parse(gateway, route.rt_gateway) || !parse("0.0.0.0", route.rt_dst) || !parse("0.0.0.0", route.rt_genmask)) return EINVAL;
  route.rt_flags = RTF_UP | RTF_GATEWAY;
  return ioctl(socket, SIOCADDRT, &route) < 0 && errno != EEXIST ? errno : 0;
}

}  // namespace

int setAddress(const char* interface, const char* address, int prefixLength, const char* gateway) {
  if (std::strlen(interface) >= IFNAMSIZ || prefixLength < 0 || prefixLength > 32) return EINVAL;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  int error = setInterface(socket, interface, address, prefixLength);
  if (error == 0) error = setDefaultRoute(socket, gateway);
  close(socket);
  return error;
}

int setMac(const char* interface, const char* mac) {
  ether_addr address = {};
  if (std::strlen(interface) >= IFNAMSIZ || ether_aton_r(mac, &address) == nullptr) return EINVAL;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  ifreq request = {};
  std::strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, &address, sizeof address);
  const int error = ioctl(socket, SIOCSIFHWADDR, &request) < 0 ? errno : 0;
  close(socket);
  return error;
}

}  // namespace workspace::start
