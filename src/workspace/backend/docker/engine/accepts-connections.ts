import { readFile, realpath } from 'node:fs/promises'

/** A connection that its server has not accepted. Source: Linux, net/unix/af_unix.c, unix_seq_show: SS_CONNECTING. */
const UNACCEPTED = '02'

/**
 * Whether the server of a Unix socket accepts connections: the kernel lists those that wait for that. A stopped or hanging
 * process leaves them waiting; a slow one does not. Undefined where that cannot be told: on another system, or where the
 * socket's server is in another network namespace or bound it by another path.
 */
export async function acceptsConnections(path: string): Promise<boolean | undefined> {
  const table = await readFile('/proc/net/unix', 'utf8').catch(() => '')
  const real = await realpath(path).catch(() => path)
  const rows = table
    .split('\n')
    .map((line) => /^\S+ \S+ \S+ \S+ \S+ (\S+) +\d+ (.*)$/.exec(line))
    .filter((match) => match?.[2] === path || match?.[2] === real)
  if (rows.length === 0) return undefined
  return rows.every((match) => match?.[1] !== UNACCEPTED)
}
