#include "call-filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace workspace::confine {

namespace {

#if defined(__x86_64__)
constexpr std::uint32_t ARCHITECTURE = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t ARCHITECTURE = AUDIT_ARCH_AARCH64;
#else
#error "the call filter supports only x86-64 and arm64"
#endif

/** From this number on x86-64 has a second table with the same calls; other architectures have no calls there. */
constexpr std::uint32_t X32 = 0x40000000;

// Numbers are the same on both architectures; older headers lack these calls.
constexpr int PIDFD_SEND_SIGNAL = 424, IO_URING_SETUP = 425, IO_URING_ENTER = 426, IO_URING_REGISTER = 427, OPEN_TREE = 428, MOVE_MOUNT = 429, FSOPEN = 430,
              FSCONFIG = 431, FSMOUNT = 432, FSPICK = 433, PIDFD_OPEN = 434, CLONE3 = 435, PIDFD_GETFD = 438, PROCESS_MADVISE = 440, MOUNT_SETATTR = 442,
              QUOTACTL_FD = 443, PROCESS_MRELEASE = 448, FCHMODAT2 = 452, SETXATTRAT = 463, REMOVEXATTRAT = 466, OPEN_TREE_ATTR = 467, FILE_SETATTR = 469;

constexpr int REFUSED[] = {
    // Networks. Connected sockets that the process inherited keep working.
    SYS_socket, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4, IO_URING_SETUP, IO_URING_ENTER, IO_URING_REGISTER,
    // Other programs and processes.
    SYS_execveat, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, PIDFD_OPEN,
    PIDFD_SEND_SIGNAL, PIDFD_GETFD, PROCESS_MADVISE, PROCESS_MRELEASE, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
    SYS_ioprio_set, SYS_migrate_pages, SYS_move_pages,
    // Namespaces and mounts.
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2, OPEN_TREE, MOVE_MOUNT, FSOPEN, FSCONFIG, FSMOUNT, FSPICK, MOUNT_SETATTR,
    OPEN_TREE_ATTR, SYS_name_to_handle_at, SYS_open_by_handle_at,
    // Not covered by Landlock: attributes of files, truncation on old kernels, and watching files that others open.
    SYS_truncate, SYS_fchmod, SYS_fchmodat, FCHMODAT2, SYS_fchown, SYS_fchownat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr,
    SYS_lremovexattr, SYS_fremovexattr, SETXATTRAT, REMOVEXATTRAT, FILE_SETATTR, SYS_mknodat, SYS_inotify_init1, SYS_fanotify_init, SYS_quotactl, QUOTACTL_FD,
    // Memory and queues that outlive the process.
    SYS_shmget, SYS_shmat, SYS_msgget, SYS_semget, SYS_mq_open,
    // The kernel.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_init_module, SYS_finit_module, SYS_delete_module, SYS_kexec_load,
    SYS_reboot, SYS_swapon, SYS_swapoff, SYS_syslog, SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime, SYS_adjtimex, SYS_sethostname,
    SYS_setdomainname, SYS_personality,
#if defined(__x86_64__)
    SYS_fork, SYS_vfork, SYS_chmod, SYS_chown, SYS_lchown, SYS_utime, SYS_utimes, SYS_futimesat, SYS_mknod, SYS_inotify_init, SYS_iopl, SYS_ioperm,
    SYS_modify_ldt,
#endif
};

/** Inject input into a terminal, or make the kernel signal another process. Source: ioctl_tty(2), linux/sockios.h. */
constexpr std::uint32_t REFUSED_CONTROLS[] = {TIOCSTI, 0x541C /* TIOCLINUX */, 0x8901 /* FIOSETOWN */, 0x8902 /* SIOCSPGRP */};
constexpr std::uint32_t REFUSED_FILE_CONTROLS[] = {8 /* F_SETOWN */, 15 /* F_SETOWN_EX */};

class Program {
 public:
  void add(std::uint16_t code, std::uint32_t operand, std::uint8_t ifTrue = 0, std::uint8_t ifFalse = 0) {
    code_.push_back({code, ifTrue, ifFalse, operand});
  }
  void load(std::size_t offset) { add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)); }
  void refuse(int error = EPERM) { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error)); }
  void allow() { add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW); }
  /** Skips a number of instructions unless the loaded word equals the value. */
  void unlessEqual(std::uint32_t value, std::uint8_t skipped) { add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skipped); }
  void refuseCall(int number, int error = EPERM) {
    unlessEqual(static_cast<std::uint32_t>(number), 1);
    refuse(error);
  }
  void loadCall() { load(offsetof(seccomp_data, nr)); }
  /** Loads the low or high half of an argument. Both architectures are little-endian. */
  void loadArgument(unsigned index, bool isHigh = false) { load(offsetof(seccomp_data, args) + 8 * index + (isHigh ? 4 : 0)); }

  /** Refuses a call if the low half of an argument is one of these values. */
  void refuseValues(int call, unsigned argument, const std::uint32_t* values, std::size_t count) {
    unlessEqual(static_cast<std::uint32_t>(call), static_cast<std::uint8_t>(2 + 2 * count));
    loadArgument(argument);
    for (std::size_t i = 0; i < count; i++) {
      unlessEqual(values[i], 1);
      refuse();
    }
    allow();
  }

  /** Allows a call only if the low half of an argument is one of two values. */
  void allowValues(int call, unsigned argument, std::uint32_t first, std::uint32_t second) {
    unlessEqual(static_cast<std::uint32_t>(call), 5);
    loadArgument(argument);
    add(BPF_JMP | BPF_JEQ | BPF_K, first, 1, 0);
    unlessEqual(second, 1);
    allow();
    refuse();
  }

  int install() {
    const sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0 ? 0 : errno;
  }

 private:
  std::vector<sock_filter> code_;
};

}  // namespace

int installCallFilter(const char* program) {
  const auto self = static_cast<std::uint32_t>(getpid());
  const auto address = reinterpret_cast<std::uint64_t>(program);
  Program filter;
  filter.load(offsetof(seccomp_data, arch));
  filter.add(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
  filter.refuse();
  filter.loadCall();
  filter.add(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
  filter.refuse(ENOSYS);
  for (const int call : REFUSED) filter.refuseCall(call);
  // Its flags are in memory, where a filter cannot read them; C libraries then fall back to clone.
  filter.refuseCall(CLONE3, ENOSYS);
  // Threads only.
  filter.unlessEqual(SYS_clone, 4);
  filter.loadArgument(0);
  filter.add(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
  filter.allow();
  filter.refuse();
  // Only one path at one address, which nobody can find again once this process has become the program.
  filter.unlessEqual(SYS_execve, 6);
  filter.loadArgument(0);
  filter.unlessEqual(static_cast<std::uint32_t>(address), 3);
  filter.loadArgument(0, true);
  filter.unlessEqual(static_cast<std::uint32_t>(address >> 32), 1);
  filter.allow();
  filter.refuse();
  // A process may signal, limit and renice only itself. For kill, 0 means the whole group.
  filter.allowValues(SYS_kill, 0, self, self);
  filter.allowValues(SYS_tgkill, 0, self, self);
  filter.allowValues(SYS_prlimit64, 0, self, 0);
  filter.refuseCall(SYS_setpriority);
  filter.refuseValues(SYS_ioctl, 1, REFUSED_CONTROLS, std::size(REFUSED_CONTROLS));
  filter.refuseValues(SYS_fcntl, 1, REFUSED_FILE_CONTROLS, std::size(REFUSED_FILE_CONTROLS));
  filter.allow();
  return filter.install();
}

}  // namespace workspace::confine
