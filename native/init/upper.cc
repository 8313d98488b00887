#include "upper.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "console.h"

namespace workspace::init {

namespace {

/** Start of a disk, which shows whether it was ever written: ext4 has its superblock and group descriptors there. */
constexpr std::size_t HEAD_BYTES = 64 * 1024;
constexpr const char* WORKSHOP = "/format";
constexpr const char* DRAFT = "/format/upper.ext4";

bool isBlank(int disk) {
  std::vector<char> head(HEAD_BYTES);
  std::size_t have = 0;
  while (have < head.size()) {
    const ssize_t got = pread(disk, head.data() + have, head.size() - have, static_cast<off_t>(have));
    if (got < 0) fail("the upper disk cannot be read: %s", std::strerror(errno));
    if (got == 0) fail("the upper disk has only %zu bytes, too few for a file system", have);
    have += static_cast<std::size_t>(got);
  }
  return std::all_of(head.begin(), head.end(), [](char each) { return each == 0; });
}

void runFormatter() {
  const std::array<const char*, 12> argv = {
      "/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-L", "upper",
      "-Elazy_itable_init=1,lazy_journal_init=1", DRAFT, nullptr};
  const pid_t child = vfork();
  if (child == 0) {
    execv(argv[0], const_cast<char* const*>(argv.data()));
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
    fail("the upper disk could not be formatted: mke2fs exited with status %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

void copyRange(int from, int to, off_t begin, off_t end) {
  std::vector<char> buffer(1024 * 1024);
  while (begin < end) {
    const std::size_t wanted = std::min(buffer.size(), static_cast<std::size_t>(end - begin));
    const ssize_t got = pread(from, buffer.data(), wanted, begin);
    if (got <= 0) fail("the upper disk could not be formatted: %s", std::strerror(errno));
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = pwrite(to, buffer.data() + done, static_cast<std::size_t>(got - done), begin + done);
      if (put <= 0) fail("the upper disk could not be formatted, writing to it failed: %s", std::strerror(errno));
      done += put;
    }
    begin += got;
  }
}

void flush(int disk) {
  if (fsync(disk) < 0) fail("the upper disk could not be formatted, writing to it failed: %s", std::strerror(errno));
}

/**
 * Formats a sparse file in memory and copies it to the disk, the start last: a VM that is killed meanwhile leaves a
 * disk that still counts as blank, and the next start formats it again.
 */
void format(int disk) {
  std::uint64_t bytes = 0;
  if (ioctl(disk, BLKGETSIZE64, &bytes) < 0) fail("the size of the upper disk cannot be read: %s", std::strerror(errno));
  if (mount("tmpfs", WORKSHOP, "tmpfs", 0, "size=100%") < 0) fail("not enough memory to format the upper disk: %s", std::strerror(errno));
  const int draft = open(DRAFT, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (draft < 0 || ftruncate(draft, static_cast<off_t>(bytes)) < 0) fail("not enough memory to format the upper disk: %s", std::strerror(errno));
  runFormatter();
  const off_t end = static_cast<off_t>(bytes);
  const off_t head = HEAD_BYTES;
  for (off_t begin = head; begin < end;) {
    begin = lseek(draft, begin, SEEK_DATA);
    if (begin < 0) break;
    const off_t hole = std::min(lseek(draft, begin, SEEK_HOLE), end);
    copyRange(draft, disk, begin, hole);
    begin = hole;
  }
  flush(disk);
  copyRange(draft, disk, 0, head);
  flush(disk);
  close(draft);
  umount(WORKSHOP);
  report("formatted the upper disk");
}

/** Whether the host can reclaim space of files deleted in the VM. */
bool canDiscard(const std::string& disk) {
  const std::string path = "/sys/block/" + disk.substr(disk.rfind('/') + 1) + "/queue/discard_max_bytes";
  FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return false;
  unsigned long long most = 0;
  const bool isTold = std::fscanf(file, "%llu", &most) == 1;
  std::fclose(file);
  return isTold && most > 0;
}

}  // namespace

void mountUpper(const std::string& disk, const char* target) {
  const int file = open(disk.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) fail("the upper disk %s cannot be opened for writing: %s", disk.c_str(), std::strerror(errno));
  if (isBlank(file)) {
    if (!hasKernelArgument("workspace.format=1"))
      fail("the upper disk is blank but contained the workspace's files before; it was left unchanged: restore it, or reset the workspace");
    format(file);
  }
  close(file);
  const char* const options = canDiscard(disk) ? "errors=remount-ro,discard" : "errors=remount-ro";
  if (mount(disk.c_str(), target, "ext4", MS_NOATIME, options) < 0)
    fail("the upper disk has no mountable file system (%s); it was left unchanged: restore it, or reset the workspace",
         std::strerror(errno));
}

}  // namespace workspace::init
