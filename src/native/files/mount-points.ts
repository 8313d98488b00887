import { readFileSync, realpathSync } from 'node:fs'

/**
 * Returns the mount points below a path, with the given path as prefix and one character per byte (latin1).
 * Undefined if the system has no list, which is Linux's /proc/self/mountinfo, proc_pid_mountinfo(5).
 */
export function mountPointsBelow(path: string): ReadonlySet<string> | undefined {
  let table: string
  try {
    table = readFileSync('/proc/self/mountinfo', 'latin1')
  } catch {
    return undefined
  }
  const given = withSlash(Buffer.from(path).toString('latin1'))
  const real = withSlash(realpathSync(path, { encoding: 'buffer' }).toString('latin1'))
  const found = new Set<string>()
  for (const line of table.split('\n')) {
    const point = (line.split(' ')[4] ?? '').replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    )
    if (point.startsWith(real) && point !== real) found.add(given + point.slice(real.length))
  }
  return found
}

function withSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`
}
