// The first program of a VM (initrd): finds its two disks, lays the upper over the read-only lower, and hands over to the
// image's own init. It says on the console how it went, one line each:
//
//   workspace-init: ready              the image's init is next
//   workspace-init: FAULT SENTENCE     the VM cannot start and turns itself off
//
// In the initrd lie beside it: modules.list, the kernel modules in the order they are loaded; sbin/mke2fs with its libraries.

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
    say("ready");
    char* const argv[] = {const_cast<char*>(program), nullptr};
    execv(program, argv);
    fail("%s of the image cannot be run: %s", program, std::strerror(errno));
  }
  fail("the image has neither /sbin/init nor /opt/workspace/init");
}

void start() {
  mountKernelFiles();
  loadModules("/modules.list");
  const Disks disks = findDisks();
  // Nothing to replay: it has no journal, and must stay what its digest says.
  if (mount(disks.lower.c_str(), "/lower", "ext4", MS_RDONLY | MS_NOATIME, "noload") < 0)
    fail("the image's disk %s cannot be mounted: %s", disks.lower.c_str(), std::strerror(errno));
  mountUpper(disks.upper, "/upper");
  mkdir("/upper/data", 0755);
  mkdir("/upper/work", 0755);
  if (mount("overlay", "/new", "overlay", 0, OVERLAY) < 0)
    fail("the upper cannot be laid over the image: %s", std::strerror(errno));
  enterRoot("/new");
  becomeInit();
}

}  // namespace

}  // namespace workspace::init

int main() {
  workspace::init::start();
  return 1;
}
