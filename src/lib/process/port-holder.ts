import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** A socket that listens (TCP_LISTEN): its port and inode. Source: proc(5), /proc/net/tcp. */
const LISTENING = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A (?:\S+\s+){5}(\d+)/

/**
 * The process that listens on a TCP port of this machine, for a message. Undefined where that cannot be told: another user's
 * process, another system.
 */
export function findPortHolder(port: number): { readonly pid: number; readonly command: string } | undefined {
  const sockets = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6']
      .flatMap((table) => read(table).split('\n'))
      .map((line) => LISTENING.exec(line))
      .filter((match) => Number.parseInt(match?.[1] ?? '', 16) === port)
      .map((match) => `socket:[${match?.[2]}]`),
  )
  if (sockets.size === 0) return undefined
  const pid = list('/proc').find(
    (name) =>
      /^\d+$/.test(name) &&
      list(`/proc/${name}/fd`).some((fd) => sockets.has(link(`/proc/${name}/fd/${fd}`))),
  )
  if (pid === undefined) return undefined
  // Its arguments may contain escape sequences.
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

/** Processes end while they are looked at, and some may not be. */
function attempt<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch {
    return undefined
  }
}
