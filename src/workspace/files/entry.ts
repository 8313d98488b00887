/** A file in a workspace, as its own `stat` reports it. */
export interface FileEntry {
  /** A text as `path-text.ts` describes. */
  readonly name: string
  /** `link` is a symbolic link, wherever it leads. */
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  readonly bytes: number
  /** Permission bits. */
  readonly mode: number
  readonly userId: number
  readonly groupId: number
  readonly modifiedAt: Date
}

/** Fields for `stat -c` of GNU coreutils and BusyBox: mode in hexadecimal, size, owner, group, time, path. */
export const STAT_FIELDS = '%f %s %u %g %Y %n'

const LINE = /^([0-9a-f]{1,8}) (\d{1,19}) (\d{1,10}) (\d{1,10}) (-?\d{1,15}) ([^]+)\n$/
const TYPE_MASK = 0o170_000
const KINDS: Readonly<Record<number, FileEntry['kind']>> = {
  0o040_000: 'directory',
  0o100_000: 'file',
  0o120_000: 'link',
}
const MAX_DATE_MS = 8.64e15

/** Parses a line of `stat -c`; returns undefined for anything else: what comes from inside is untrusted. */
export function parseStat(line: string): FileEntry | undefined {
  const [, mode, bytes, user, group, time, path = ''] = LINE.exec(line) ?? []
  if (mode === undefined) return undefined
  const bits = Number.parseInt(mode, 16)
  return {
    name: path.slice(path.lastIndexOf('/') + 1),
    kind: KINDS[bits & TYPE_MASK] ?? 'other',
    bytes: Number(bytes),
    mode: bits & 0o7777,
    userId: Number(user),
    groupId: Number(group),
    modifiedAt: new Date(Math.max(-MAX_DATE_MS, Math.min(Number(time) * 1_000, MAX_DATE_MS))),
  }
}
