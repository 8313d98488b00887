#include "console.h"

#include <fcntl.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string_view>

namespace workspace::init {

namespace {

void print(const char* prefix, const char* format, va_list arguments) {
  std::array<char, 1024> line;
  // Leaves space for the newline.
  const std::size_t room = line.size() - 1;
  std::size_t length = static_cast<std::size_t>(std::snprintf(line.data(), room, "%s", prefix));
  length += static_cast<std::size_t>(std::max(0, std::vsnprintf(line.data() + length, room - length, format, arguments)));
  length = std::min(length, room - 1);
  line[length++] = '\n';
  const int console = open("/dev/console", O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (console < 0) return;
  // A single write, so that the kernel's own lines cannot interrupt it.
  if (write(console, line.data(), length) >= 0) tcdrain(console);
  close(console);
}

}  // namespace

void report(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print("workspace-init: ", format, arguments);
  va_end(arguments);
}

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print("workspace-init: FAULT ", format, arguments);
  va_end(arguments);
  sync();
  // If a VM has no power switch, its monitor exits on reboot; a kernel argument selects that.
  reboot(hasKernelArgument("reboot=k") ? RB_AUTOBOOT : RB_POWER_OFF);
  while (true) pause();
}

bool hasKernelArgument(const char* word) {
  std::array<char, 4096> text;
  const int file = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t length = read(file, text.data(), text.size());
  close(file);
  if (length <= 0) return false;
  std::string_view rest(text.data(), static_cast<std::size_t>(length));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (rest.substr(0, end) == word) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

}  // namespace workspace::init
