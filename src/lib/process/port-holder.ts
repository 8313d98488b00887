import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Port and inode of a listening socket (TCP_LISTEN). Source: proc(5), /proc/net/tcp. */
const LISTENING = /^\s*\d+: [0-9A-F]+:([0-9A-F]{4}) [0-9A-F:]+ 0A (?:\S+\s+){5}(\d+)/

/**
 * Describes the process that listens on a local TCP port, for messages. Undefined if it cannot be determined: another user's
 * process, or another operating system.
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
