import type { BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mountPointsBelow } from '../../native/mount-points.ts'
import { CREATING, creationMarkAgeMs } from '../backend/microvm/files/creating-mark.ts'
import { findMachine } from '../backend/microvm/stray-machines.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import { shortDuration } from './short-duration.ts'

/** The time that whoever makes something has to end it. */
const GRACE_MS = 3_600_000

/** What speaks against deleting something that belongs to nothing; '' for nothing. */
export async function whyRetained(
  { kind, name, path }: { readonly kind: string; readonly name: string; readonly path: string },
  stat: BigIntStats,
  now: Date,
): Promise<string> {
  if (stat.isSymbolicLink()) return 'it is a symbolic link: remove it by hand'
  if (kind === 'upper' && !(isWorkspaceName(name) && name === nameKey(name)))
    return 'its name is no workspace’s: remove it by hand'
  if (!stat.isDirectory()) return kind === 'upper' ? 'it is no directory: remove it by hand' : ''
  const making = kind === 'trash' ? '' : await whyBeingMade(path, now)
  if (making !== '') return making
  if ((mountPointsBelow(path)?.size ?? 0) > 0) return 'a file system is mounted in it'
  if (kind !== 'upper') return ''
  const [user] = await findMachine({ disk: join(path, 'upper.ext4') })
  return user === undefined ? '' : `process ${user.pid} has it`
}

/** Says that a directory bears the mark of what is being made; '' where it bears none that counts. */
export async function whyBeingMade(path: string, now: Date): Promise<string> {
  const ageMs = await makingAgeMs(path, now)
  return ageMs !== undefined && ageMs < GRACE_MS
    ? `being made (its mark is ${shortDuration(ageMs)} old, and counts for 1h)`
    : ''
}

/** How long ago its mark was made, or something was last written in it: a large copy may take more than an hour. */
async function makingAgeMs(path: string, now: Date): Promise<number | undefined> {
  const markMs = await creationMarkAgeMs(join(path, CREATING), now)
  if (markMs === undefined) return undefined
  const others = (await readdir(path)).filter((name) => name !== CREATING)
  const times = await Promise.all(others.map(async (name) => (await lstat(join(path, name))).mtimeMs))
  return Math.max(0, Math.min(markMs, now.getTime() - Math.max(0, ...times)))
}
