import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { findProgram } from '../process/find-program.ts'

/** What a program that may be hostile gets of this machine. Paths are the same inside and outside. */
export interface SandboxOptions {
  /** Files and directories that it can read, beside the system's programs and libraries. */
  readonly readable?: readonly string[]
  /** Files and directories that it can also change. */
  readonly writable?: readonly string[]
  /** Device nodes: where each is on this machine, and the path that it gets inside. */
  readonly devices?: readonly { readonly source: string; readonly path: string }[]
  /** `host` leaves it in this machine's network; else it has a loopback interface alone. Unix sockets below its paths work either way. */
  readonly network: 'none' | 'host'
  /** The number of the user and of the group that it becomes; left out, it stays this process's own. Needs root. */
  readonly user?: number
  /** Whether it sees no other processes. Then its own parent remains as long as it runs, and ends it by its own end. */
  readonly hidesProcesses?: boolean
  /** Capabilities that it keeps, such as CAP_CHOWN; none when left out. Of no use together with `user`. */
  readonly capabilities?: readonly string[]
  /** Bounds on what it uses. With them, nothing outside `writable` can be written, not even in memory. */
  readonly limits?: Limits
  /** A descriptor of the starting process from which the seccomp filter is read; see `callFilter`. */
  readonly filterDescriptor?: number
}

/** Resource limits of each process in a sandbox. Source: getrlimit(2). */
export interface Limits {
  /** Memory that a process can write to, in bytes. */
  readonly dataBytes: number
  /** The largest file that it can write, in bytes; sparse files count in full. */
  readonly fileBytes: number
  readonly cpuSeconds: number
  /** Processes and threads in the sandbox. Linux does not count those of root. */
  readonly processes: number
  readonly openFiles: number
}

/** The system's own directories, of which nothing is a secret of a user's. */
const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
  '/etc/alternatives',
  '/etc/ld.so.cache',
] as const

/** What the sandbox is made with, as a sentence with a remedy where it is missing. Source: bwrap(1), setpriv(1). */
export async function sandboxMissing(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'sandboxes need Linux'
  if ((await findProgram('bwrap')) === undefined)
    return 'bubblewrap is not installed (Debian, Ubuntu, Fedora: the package bubblewrap)'
  if ((await findProgram('prlimit')) === undefined)
    return 'prlimit is not installed (Debian, Ubuntu, Fedora: the package util-linux)'
  return undefined
}

/**
 * Returns the command that runs a program in namespaces where nothing of this machine exists but what the options name: no other
 * file, process, device or network, no capability, and no way to gain one. Callers check `sandboxMissing` first.
 */
export function sandboxed(
  program: string,
  argv: readonly string[],
  {
    readable = [],
    writable = [],
    devices = [],
    network,
    user,
    hidesProcesses = false,
    capabilities = [],
    limits,
    filterDescriptor,
  }: SandboxOptions,
): readonly [string, ...string[]] {
  const asOther =
    user === undefined
      ? []
      : ['setpriv', `--reuid=${user}`, `--regid=${user}`, '--clear-groups', '--inh-caps=-all']
  // Becoming another user needs these two; they are gone as soon as it is that user.
  const kept = user === undefined ? capabilities : ['CAP_SETUID', 'CAP_SETGID']
  const bubblewrap = hasUnrootedPowers()
    ? (['setpriv', ...NO_POWERS, 'bwrap'] as const)
    : (['bwrap'] as const)
  return [
    ...bubblewrap,
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...(hidesProcesses ? ['--unshare-pid', '--die-with-parent'] : []),
    '--new-session',
    '--cap-drop',
    'ALL',
    ...kept.flatMap((each) => ['--cap-add', each]),
    ...SYSTEM.flatMap((path) => ['--ro-bind-try', path, path]),
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...parentsOf([...devices.map(({ path }) => path), ...readable, ...writable]).flatMap((path) => [
      '--perms',
      '0755',
      '--dir',
      path,
    ]),
    ...devices.flatMap(({ source, path }) => ['--dev-bind', source, path]),
    ...readable.flatMap((path) => ['--ro-bind', path, path]),
    ...writable.flatMap((path) => ['--bind', path, path]),
    // Both are file systems in memory, which nothing else bounds.
    ...(limits === undefined ? [] : ['--remount-ro', '/dev', '--remount-ro', '/']),
    ...(filterDescriptor === undefined ? [] : ['--seccomp', String(filterDescriptor)]),
    '--chdir',
    '/',
    '--',
    ...asOther,
    ...(limits === undefined ? [] : limitsOf(limits)),
    program,
    ...argv,
  ]
}

const NO_POWERS = ['--inh-caps=-all', '--ambient-caps=-all'] as const

/** Whether this process has capabilities without being root, as a service manager may give them: bubblewrap refuses to run with those. */
function hasUnrootedPowers(): boolean {
  if (process.getuid?.() === 0) return false
  return !/^CapPrm:\s*0+$/m.test(readFileSync('/proc/self/status', 'utf8'))
}

function limitsOf({ dataBytes, fileBytes, cpuSeconds, processes, openFiles }: Limits): readonly string[] {
  return [
    'prlimit',
    `--data=${dataBytes}`,
    `--fsize=${fileBytes}`,
    // The kernel's signal at the first asks, at the second it kills.
    `--cpu=${cpuSeconds}:${cpuSeconds + 5}`,
    `--nproc=${processes}`,
    `--nofile=${openFiles}`,
    '--core=0',
    '--',
  ]
}

/** The directories above the paths, outermost first: bubblewrap itself would make them for root alone. */
function parentsOf(paths: readonly string[]): readonly string[] {
  const parents = new Set<string>()
  const visit = (path: string): void => {
    if (path === '/' || path === '/dev') return
    if (SYSTEM.some((each) => each === path || path.startsWith(`${each}/`))) return
    visit(dirname(path))
    parents.add(path)
  }
  for (const path of paths) visit(dirname(path))
  return [...parents]
}
