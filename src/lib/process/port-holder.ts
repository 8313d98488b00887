import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Port, user and inode of a listening socket (TCP_LISTEN). Source: proc(5), /proc/net/tcp. */
const LISTENING = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A (?:\S+\s+){3}(\d+)\s+\S+\s+(\d+)/

/** The program that listens on a port. */
export interface PortHolder {
  /** Owner of the socket. */
  readonly uid: number
  /** Undefined if only its user can see it. */
  readonly process: { readonly pid: number; readonly command: string } | undefined
}

/** Finds the program that listens on a local TCP port, for messages. Undefined if there is none, or on other operating systems. */
export function findPortHolder(port: number): PortHolder | undefined {
  const found = ['/proc/net/tcp', '/proc/net/tcp6']
    .flatMap((table) => read(table).split('\n'))
    .map((line) => LISTENING.exec(line))
    .filter((match) => Number.parseInt(match?.[1] ?? '', 16) === port)
  if (found.length === 0) return undefined
  const sockets = new Set(found.map((match) => `socket:[${match?.[3]}]`))
  return { uid: Number(found[0]?.[2]), process: ownerOf(sockets) }
}

function ownerOf(sockets: ReadonlySet<string>): PortHolder['process'] {
  const pid = list('/proc').find(
    (name) =>
      /^\d+$/.test(name) &&
      list(`/proc/${name}/fd`).some((fd) => sockets.has(link(`/proc/${name}/fd/${fd}`))),
  )
  if (pid === undefined) return undefined
  // Arguments may contain escape sequences.
  const command = read(`/proc/${pid}/cmdline`)
    .replaceAll(/[^\u0021-\u007e]+/g, ' ')
    .trim()
  return { pid: Number(pid), command: command.slice(0, 200) }
}

function read(path: string): string {
  return attempt(() => readFileSync(path, 'utf8')) ?? ''
}

function list(path: string): readonly string[] {
  return attempt(() => readdirSync(path)) ?? []
}

function link(path: string): string {
  return attempt(() => readlinkSync(path)) ?? ''
}

/** Returns undefined for processes that exit meanwhile or are not readable. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
