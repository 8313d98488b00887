// Simulates the traffic of a guest at full speed: connects a tap device in this network namespace to a stream socket
// with QEMU's framing.
//   tap-pump SOCKET     prints "ready" when connected
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

int main(int, char** argv) {
  const int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
  ifreq request{};
  std::strcpy(request.ifr_name, "tap0");
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  if (tap < 0 || ioctl(tap, TUNSETIFF, &request) < 0) return 1;
  const int stream = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, argv[1]);
  if (connect(stream, reinterpret_cast<sockaddr*>(&address), sizeof address) < 0) return 1;
  std::puts("ready");
  std::fflush(stdout);
  std::vector<std::uint8_t> out(1 << 20);
  std::vector<std::uint8_t> in(1 << 20);
  std::size_t held = 0;
  while (true) {
    pollfd watched[] = {{tap, POLLIN, 0}, {stream, POLLIN, 0}};
    poll(watched, 2, -1);
    if (watched[0].revents != 0) {
      std::size_t size = 0;
      // A write per frame, like QEMU's, would be the bottleneck. Limited to what the kernel accepts completely: passt
      // loses track of the
      // stream when it reads a frame in parts.
      while (size < 16'384 - 1'600) {
        const ssize_t count = read(tap, out.data() + size + 4, 70'000);
        if (count <= 0) break;
        const std::uint32_t length = htonl(static_cast<std::uint32_t>(count));
        std::memcpy(out.data() + size, &length, 4);
        size += 4 + static_cast<std::size_t>(count);
      }
      for (std::size_t done = 0; done < size;) {
        const ssize_t count = send(stream, out.data() + done, size - done, MSG_NOSIGNAL);
        if (count <= 0) return 0;
        done += static_cast<std::size_t>(count);
      }
    }
    if (watched[1].revents != 0) {
      const ssize_t count = recv(stream, in.data() + held, in.size() - held, MSG_DONTWAIT);
      if (count == 0) return 0;
      if (count > 0) held += static_cast<std::size_t>(count);
      std::size_t at = 0;
      while (held - at >= 4) {
        std::uint32_t length = 0;
        std::memcpy(&length, in.data() + at, 4);
        length = ntohl(length);
        if (held - at < 4 + length) break;
        while (write(tap, in.data() + at + 4, length) < 0 && errno == EAGAIN) {
        }
        at += 4 + length;
      }
      std::memmove(in.data(), in.data() + at, held - at);
      held -= at;
    }
  }
}
