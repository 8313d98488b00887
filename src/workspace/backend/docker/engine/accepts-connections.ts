import { ignore } from '../../../../lib/errors/ignore.ts'
import { readFile, realpath } from 'node:fs/promises'

/**
 * State of a connection that the server has not accepted yet. Source: Linux, net/unix/af_unix.c,
 * unix_seq_show: SS_CONNECTING.
 */
const UNACCEPTED = '02'

/**
 * Returns whether the server of a Unix socket accepts connections, from the kernel's list of pending ones. A
 * stopped or hanging process leaves connections pending; a slow one does not. Undefined when this cannot be
 * determined: on another system, or when the socket's server is in another network namespace or bound it by a
 * different path.
 */
export async function acceptsConnections(path: string): Promise<boolean | undefined> {
  const table = await readFile('/proc/net/unix', 'utf8').catch(ignore('other systems have no such table', ''))
  const real = await realpath(path).catch(ignore('the socket may be missing', path))
  const rows = table
    .split('\n')
    .map((line) => /^\S+ \S+ \S+ \S+ \S+ (\S+) +\d+ (.*)$/.exec(line))
    .filter((match) => match?.[2] === path || match?.[2] === real)
  if (rows.length === 0) return undefined
  return rows.every((match) => match?.[1] !== UNACCEPTED)
}
