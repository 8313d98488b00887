import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { fault } from '../errors.ts'

/** A TCP port inside a workspace that something listens on. */
export interface ListeningPort {
  readonly port: number
  readonly address: string
  /** What the program calls itself; undefined where it is not the workspace's user's. */
  readonly process: string | undefined
}

const SEPARATOR = '=='
/**
 * All in one program, of what every image has. Without `ls` or `grep` ports have no programs, and a workspace with thousands of
 * connections says too much.
 */
const SCRIPT = `
if command -v grep >/dev/null; then grep -hs ' 0A [0-9A-F]*:' /proc/net/tcp /proc/net/tcp6
else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; fi
echo ${SEPARATOR}
grep -s . /proc/[0-9]*/comm
echo ${SEPARATOR}
ls -l /proc/[0-9]*/fd 2>/dev/null | grep -e '^/proc/' -e ' socket:'
exit 0`

/** The state of a socket that listens (TCP_LISTEN), and after it the fields up to the inode. Source: proc(5), /proc/net/tcp. */
const LISTENING = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F:]+ 0A (?:\S+\s+){5}(\d+)/

/** Which of several sockets of one port is told: tunnels go to 127.0.0.1. */
const PREFERRED = ['127.0.0.1', '0.0.0.0', '::', '::1']

/** The ports that something listens on inside a running workspace, lowest first, without those that may not be reached. */
export async function listListeningPorts(
  backend: Backend,
  workspaceName: string,
  deniedPorts: readonly number[],
): Promise<readonly ListeningPort[]> {
  // As the workspace's user, who sees what is theirs; root sees no more in a container, which may not look into processes.
  const process = await backend.exec(workspaceName, {
    argv: ['/bin/sh', '-c', SCRIPT],
    stdin: false,
  })
  const { stdout, status } = await readProgram(process)
  if (status !== 0) throw fault('BACKEND_ERROR', `the ports of workspace "${workspaceName}" cannot be read`)
  return parsePorts(stdout).filter(({ port }) => !deniedPorts.includes(port))
}

/** What the script said, as ports. */
export function parsePorts(said: string): readonly ListeningPort[] {
  const [sockets = '', names = '', files = ''] = said.split(`${SEPARATOR}\n`)
  const ownerOf = ownersOf(names, files)
  const found = new Map<number, ListeningPort>()
  for (const line of sockets.split('\n')) {
    const [, address, port, inode = ''] = LISTENING.exec(line) ?? []
    if (address === undefined || port === undefined) continue
    const entry = {
      port: Number.parseInt(port, 16),
      address: addressOf(address),
      process: ownerOf.get(inode),
    }
    const other = found.get(entry.port)
    if (other === undefined || rank(entry) < rank(other)) found.set(entry.port, entry)
  }
  return [...found.values()].toSorted((a, b) => a.port - b.port)
}

/** By a socket's inode, what the program that has it calls itself. */
function ownersOf(names: string, files: string): ReadonlyMap<string, string> {
  const nameOf = new Map<string, string>()
  for (const line of names.split('\n')) {
    const [, id, name] = /^\/proc\/(\d+)\/comm:(.*)$/.exec(line) ?? []
    if (id !== undefined && name !== undefined && !nameOf.has(id)) nameOf.set(id, name)
  }
  const owners = new Map<string, string>()
  let name: string | undefined
  for (const line of files.split('\n')) {
    const [, id] = /^\/proc\/(\d+)\/fd:$/.exec(line) ?? []
    if (id !== undefined) name = nameOf.get(id)
    const [, inode] = / -> socket:\[(\d+)\]$/.exec(line) ?? []
    if (inode !== undefined && name !== undefined && !owners.has(inode)) owners.set(inode, name)
  }
  return owners
}

/** An address as the kernel prints it: words of 32 bits, each in the order of the machine's bytes, here little-endian. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex')].toReversed())
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  )
  // A URL writes an address in its shortest form.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function rank({ address }: ListeningPort): number {
  const at = PREFERRED.indexOf(address)
  return at < 0 ? PREFERRED.length : at
}
