import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { findProgram } from '../process/find-program.ts'

/** Access of an untrusted program. Paths are the same inside and outside. */
export interface SandboxOptions {
  /** Readable files and directories, in addition to the system's programs and libraries. */
  readonly readable?: readonly string[]
  /** Writable files and directories. */
  readonly writable?: readonly string[]
  /** Device nodes: path on this machine and path inside. */
  readonly devices?: readonly { readonly source: string; readonly path: string }[]
  /** `host`: this machine's network; `none`: only a loopback interface. Unix sockets below its paths work in both. */
  readonly network: 'none' | 'host'
  /** User and group id to switch to; default: this process's. Requires root. */
  readonly user?: number
  /** Hides other processes. A parent process then stays while it runs and kills it on exit. */
  readonly hidesProcesses?: boolean
  /** Capabilities to keep, such as CAP_CHOWN; default: none. No effect together with `user`. */
  readonly capabilities?: readonly string[]
  /** Resource limits. With them, nothing outside `writable` can be written, not even in memory. */
  readonly limits?: Limits
  /** Descriptor of the starting process with the seccomp filter; see `callFilter`. */
  readonly filterDescriptor?: number
}

/** Resource limits of each process in a sandbox. Source: getrlimit(2). */
export interface Limits {
  /** Writable memory of a process in bytes. */
  readonly dataBytes: number
  /** Maximum file size in bytes; sparse files count in full. */
  readonly fileBytes: number
  readonly cpuSeconds: number
  /** Maximum number of processes and threads in the sandbox. Linux does not count root's. */
  readonly processes: number
  readonly openFiles: number
}

/** System directories without users' secrets. */
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

/** Returns what the sandbox is missing, with the remedy; undefined if it is available. Source: bwrap(1), setpriv(1). */
export async function sandboxMissing(): Promise<string | undefined> {
  if (process.platform !== 'linux') return 'sandboxes require Linux'
  if ((await findProgram('bwrap')) === undefined)
    return 'bubblewrap is not installed (Debian, Ubuntu, Fedora: package bubblewrap)'
  if ((await findProgram('prlimit')) === undefined)
    return 'prlimit is not installed (Debian, Ubuntu, Fedora: package util-linux)'
  return undefined
}

/**
 * Returns the command that runs a program in namespaces with access only to what the options name: no other
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
  // Required to switch users, and dropped afterwards.
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
    // Both are in-memory file systems without other limits.
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

/** Whether this process has capabilities without being root, as granted by a service manager: bubblewrap refuses those. */
function hasUnrootedPowers(): boolean {
  if (process.getuid?.() === 0) return false
  return !/^CapPrm:\s*0+$/m.test(readFileSync('/proc/self/status', 'utf8'))
}

function limitsOf({ dataBytes, fileBytes, cpuSeconds, processes, openFiles }: Limits): readonly string[] {
  return [
    'prlimit',
    `--data=${dataBytes}`,
    `--fsize=${fileBytes}`,
    // The kernel signals at the soft limit and kills at the hard limit.
    `--cpu=${cpuSeconds}:${cpuSeconds + 5}`,
    `--nproc=${processes}`,
    `--nofile=${openFiles}`,
    '--core=0',
    '--',
  ]
}

/** Returns the parent directories of the paths, outermost first: bubblewrap would create them for root only. */
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
