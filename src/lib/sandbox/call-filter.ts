/** System call numbers. Source: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux. */
interface Numbers {
  /** AUDIT_ARCH_* of audit.h. */
  readonly architecture: number
  readonly refused: readonly number[]
  /** Calls that create nodes, and the index of their mode argument. */
  readonly makeNode: readonly (readonly [number: number, argument: number])[]
  readonly clone: number
  readonly clone3: number
  readonly socket: number
}

/** Numbers shared by both architectures: io_uring_setup, open_tree, move_mount, fsopen, fsmount, mount_setattr. */
const COMMON = [425, 428, 429, 430, 432, 442] as const

const NUMBERS: Partial<Record<NodeJS.Architecture, Numbers>> = {
  x64: {
    architecture: 0xc000003e,
    refused: [
      165,
      166,
      155,
      272,
      308,
      304, // mount, umount2, pivot_root, unshare, setns, open_by_handle_at
      101,
      310,
      311,
      298,
      321,
      323, // ptrace, process_vm_readv, process_vm_writev, perf_event_open, bpf, userfaultfd
      248,
      249,
      250, // add_key, request_key, keyctl
      167,
      169,
      175,
      246,
      313, // swapon, reboot, init_module, kexec_load, finit_module
      ...COMMON,
    ],
    makeNode: [
      [133, 1], // mknod
      [259, 2], // mknodat
    ],
    clone: 56,
    clone3: 435,
    socket: 41,
  },
  arm64: {
    architecture: 0xc00000b7,
    refused: [
      40,
      39,
      41,
      97,
      268,
      265,
      117,
      270,
      271,
      241,
      280,
      282,
      217,
      218,
      219,
      224,
      142,
      105,
      104,
      273,
      ...COMMON,
    ],
    makeNode: [[33, 2]],
    clone: 220,
    clone3: 435,
    socket: 198,
  },
}

/** Instructions of classic BPF. Source: linux/filter.h, linux/seccomp.h. */
const LOAD = 0x20
const JUMP_EQUAL = 0x15
const JUMP_ABOVE = 0x35
const JUMP_IF_SET = 0x45
const AND = 0x54
const RETURN = 0x06
const ALLOW = 0x7fff0000
const ERRNO = 0x00050000
const EPERM = 1
const ENOSYS = 38
/** Offsets in struct seccomp_data; the low half of the first argument. */
const [NUMBER_AT, ARCHITECTURE_AT, ARGUMENT_AT] = [0, 4, 16]
/** Flag of x86's second table of the same calls. */
const X32 = 0x40000000
/** Mode bits of the node type; a regular file has 0 or PLAIN. */
const [KIND, PLAIN] = [0o170000, 0o100000] as const
const CLONE_NEWUSER = 0x10000000
/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. Others, such as AF_VSOCK, are not confined by network namespaces. */
const FAMILIES = [1, 2, 10, 16] as const

/**
 * Returns a seccomp filter for readers of untrusted bytes, for `bwrap --seccomp`: it denies creating device nodes and FIFOs, mounting, entering or creating
 * namespaces, tracing, and sockets that bypass the network namespace. Undefined on architectures without a table.
 */
export function callFilter(arch: NodeJS.Architecture = process.arch): Buffer | undefined {
  const numbers = NUMBERS[arch]
  if (numbers === undefined) return undefined
  const { architecture, refused, makeNode, clone, clone3, socket } = numbers
  const refuse = (errno: number): Instruction => [RETURN, 0, 0, ERRNO | errno]
  return program([
    [LOAD, 0, 0, ARCHITECTURE_AT],
    [JUMP_EQUAL, 1, 0, architecture],
    refuse(EPERM),
    [LOAD, 0, 0, NUMBER_AT],
    [JUMP_ABOVE, 0, 1, X32],
    refuse(EPERM),
    ...refused.flatMap((number): readonly Instruction[] => [[JUMP_EQUAL, 0, 1, number], refuse(EPERM)]),
    // Tar creates regular files with it to set attributes before opening them.
    ...makeNode.flatMap(([number, argument]): readonly Instruction[] => [
      [JUMP_EQUAL, 0, 6, number],
      [LOAD, 0, 0, ARGUMENT_AT + 8 * argument],
      [AND, 0, 0, KIND],
      [JUMP_EQUAL, 2, 0, 0],
      [JUMP_EQUAL, 1, 0, PLAIN],
      refuse(EPERM),
      [RETURN, 0, 0, ALLOW],
    ]),
    // Its flags are in memory, which a filter cannot read; C libraries then use clone.
    [JUMP_EQUAL, 0, 1, clone3],
    refuse(ENOSYS),
    [JUMP_EQUAL, 0, 4, clone],
    [LOAD, 0, 0, ARGUMENT_AT],
    [JUMP_IF_SET, 0, 1, CLONE_NEWUSER],
    refuse(EPERM),
    [RETURN, 0, 0, ALLOW],
    [JUMP_EQUAL, 0, 2 + FAMILIES.length, socket],
    [LOAD, 0, 0, ARGUMENT_AT],
    ...FAMILIES.map((family, i): Instruction => [JUMP_EQUAL, FAMILIES.length - i, 0, family]),
    refuse(EPERM),
    [RETURN, 0, 0, ALLOW],
  ])
}

/** Opcode, jump offsets if true and if false, operand. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, operand: number]

function program(instructions: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(instructions.length * 8)
  instructions.forEach(([code, ifTrue, ifFalse, operand], i) => {
    bytes.writeUInt16LE(code, i * 8)
    bytes.writeUInt8(ifTrue, i * 8 + 2)
    bytes.writeUInt8(ifFalse, i * 8 + 3)
    bytes.writeUInt32LE(operand >>> 0, i * 8 + 4)
  })
  return bytes
}
