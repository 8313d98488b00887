// First program of a VM (initrd): finds its two disks, mounts the upper over the read-only lower, and executes the
// image's own init. It reports the outcome on the console in one line:
//
//   workspace-init: ready              the image's init runs next
//   workspace-init: FAULT MESSAGE      the VM cannot start and turns itself off
//
// The initrd also contains modules.list, the kernel modules in load order, and sbin/mke2fs with its libraries.

#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "console.h"
#include "disks.h"
#include "modules.h"
#include "root.h"
#include "upper.h"

namespace workspace::init {

namespace {

constexpr const char* OVERLAY = "lowerdir=/lower,upperdir=/upper/data,workdir=/upper/work";

void mountKernelFiles() {
  mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID, "mode=0755");
  mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
}

void becomeInit() {
  for (const char* program : std::array{"/sbin/init", "/opt/workspace/init"}) {
    if (access(program, X_OK) < 0) continue;
    report("ready");
    char* const argv[] = {const_cast<char*>(program), nullptr};
    execv(program, argv);
    fail("the image's %s cannot be executed: %s", program, std::strerror(errno));
  }
  fail("the image has neither /sbin/init nor /opt/workspace/init");
}

void start() {
  mountKernelFiles();
  loadModules("/modules.list");
  const Disks disks = findDisks();
  // noload: the image has no journal to replay, and must not change, as its digest is fixed.
  if (mount(disks.lower.c_str(), "/lower", "ext4", MS_RDONLY | MS_NOATIME, "noload") < 0)
    fail("the image's disk %s cannot be mounted: %s", disks.lower.c_str(), std::strerror(errno));
  mountUpper(disks.upper, "/upper");
  mkdir("/upper/data", 0755);
  mkdir("/upper/work", 0755);
  if (mount("overlay", "/new", "overlay", 0, OVERLAY) < 0)
    fail("the upper cannot be mounted over the image: %s", std::strerror(errno));
  enterRoot("/new");
  becomeInit();
}

}  // namespace

}  // namespace workspace::init

int main() {
  workspace::init::start();
  return 1;
}
