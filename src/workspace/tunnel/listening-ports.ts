import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { fault } from '../errors.ts'

/** A listening TCP port inside a workspace. */
export interface ListeningPort {
  readonly port: number
  readonly address: string
  /** The program's name; undefined when it does not belong to the workspace's user. */
  readonly process: string | undefined
}

const [FIRST_POLL_MS, LAST_POLL_MS] = [50, 500]

const SEPARATOR = '=='
/**
 * One script using only tools that every image has. Without `ls` or `grep`, ports have no program names, and
 * the output of a workspace with thousands of connections exceeds the limit.
 */
const SCRIPT = `
if command -v grep >/dev/null; then grep -hs ' 0A [0-9A-F]*:' /proc/net/tcp /proc/net/tcp6
else cat /proc/net/tcp /proc/net/tcp6 2>/dev/null; fi
echo ${SEPARATOR}
grep -s . /proc/[0-9]*/comm
echo ${SEPARATOR}
ls -l /proc/[0-9]*/fd 2>/dev/null | grep -e '^/proc/' -e ' socket:'
exit 0`

/** A socket in state TCP_LISTEN, and the fields up to its inode. Source: proc(5), /proc/net/tcp. */
const LISTENING = /^\s*\d+: ([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4}) [0-9A-F:]+ 0A (?:\S+\s+){5}(\d+)/

/** Which of several sockets on one port is reported: tunnels connect to 127.0.0.1, or else to ::1. */
const PREFERRED = ['127.0.0.1', '0.0.0.0', '::', '::1']

/** Lists the listening ports inside a running workspace in ascending order, without denied ones. */
export async function listListeningPorts(
  backend: Backend,
  workspaceName: string,
  deniedPorts: readonly number[],
): Promise<readonly ListeningPort[]> {
  // As the workspace's user, who sees their own processes. Root sees no more: in a container it may not
  // inspect other processes.
  const process = await backend.exec(workspaceName, {
    argv: ['/bin/sh', '-c', SCRIPT],
    stdin: false,
  })
  const { stdout, status } = await readProgram(process)
  if (status !== 0) throw fault('BACKEND_ERROR', `the ports of workspace "${workspaceName}" cannot be read`)
  return parsePorts(stdout).filter(({ port }) => !deniedPorts.includes(port))
}

/**
 * Waits until a program listens on a port inside a workspace.
 *
 * @param gone aborts when the client disconnects
 * @throws the reason of `gone`
 * @throws WAIT_TIMED_OUT when none does in time
 * @throws the errors of `list`
 */
export async function waitForPort(
  port: number,
  timeoutMs: number,
  list: () => Promise<readonly ListeningPort[]>,
  gone: AbortSignal,
): Promise<ListeningPort> {
  const endMs = performance.now() + timeoutMs
  for (let pauseMs = FIRST_POLL_MS; ; pauseMs = Math.min(2 * pauseMs, LAST_POLL_MS)) {
    const found = (await list()).find((each) => each.port === port)
    if (found !== undefined) return found
    const leftMs = endMs - performance.now()
    if (leftMs <= 0)
      throw fault('WAIT_TIMED_OUT', `nothing listens on port ${port} of the workspace after ${timeoutMs} ms`)
    await delay(Math.min(pauseMs, leftMs), undefined, { signal: gone }).catch(
      ignore('a wait that was aborted'),
    )
    gone.throwIfAborted()
  }
}

/** Parses the script's output. */
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

/** Returns the name of the program that owns each socket, by inode. */
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

/** Formats an address that the kernel prints as 32-bit words in host byte order, here little-endian. */
function addressOf(hex: string): string {
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => [...Buffer.from(word, 'hex')].toReversed())
  if (bytes.length === 4) return bytes.join('.')
  const groups = Array.from({ length: 8 }, (_, at) =>
    (((bytes[2 * at] ?? 0) << 8) | (bytes[2 * at + 1] ?? 0)).toString(16),
  )
  // A URL formats an address in its shortest form.
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)
}

function rank({ address }: ListeningPort): number {
  const at = PREFERRED.indexOf(address)
  return at < 0 ? PREFERRED.length : at
}
