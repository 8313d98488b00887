import type { Dirent, BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { TRASH_PREFIX, type TrashLocation } from '../../native/files/trash.ts'
import { SNAPSHOT_FILE } from '../backend/microvm/usage.ts'
import type { BackendName } from '../backend-name.ts'
import { filesOf, type MachineRoot, placesOf } from './machine-root.ts'
import { mountPointsBelow } from '../../native/files/mount-points.ts'
import { CREATING, creationMarkAgeMs } from '../backend/microvm/files/creating-mark.ts'
import { findMachine } from '../backend/microvm/stray-machines.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import { FilesInUse } from './files-in-use.ts'
import { shortDuration } from './short-duration.ts'

/** What belongs to nothing any more: staging of crashed work, halves of snapshots, disks of no machine, locks, what deletions left. */
export type OrphanKind = 'tmp' | 'snapshot' | 'upper' | 'lock' | 'trash'

export interface Orphan {
  readonly kind: OrphanKind
  readonly name: string
  readonly path: string
  readonly place: TrashLocation
  readonly backend: BackendName
  /** Why it stays; '' when it can go. */
  readonly retained: string
  /** Tells it from another one of that name. */
  readonly identity: string
  readonly changedAt: Date
}

export interface OrphanFindings {
  readonly orphans: readonly Orphan[]
  /** What could not be looked at, in sentences. */
  readonly notes: readonly string[]
}

/** A file of this kind that is younger may be being written. */
const TEMPORARY_FILE_MS = 3_600_000

/** Everything of a root that belongs to nothing. What cannot be told is retained, never taken for left over (threat P3). */
export async function findOrphans(machineRoot: MachineRoot, now: Date): Promise<OrphanFindings> {
  const notes: string[] = []
  const orphans: Orphan[] = []
  let inUse: Promise<FilesInUse> | undefined
  const look = async (
    place: TrashLocation,
    kindOf: (entry: Dirent) => Promise<Finding | undefined> | Finding | undefined,
  ): Promise<void> => {
    const directory = join(place.root, place.parent)
    try {
      for (const entry of await readdir(directory, { withFileTypes: true })) {
        const finding = await kindOf(entry)
        if (finding === undefined) continue
        inUse ??= FilesInUse.read()
        orphans.push(await describe(machineRoot, place, entry.name, finding, { now, inUse: await inUse }))
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      notes.push(`${directory}: not looked through (${messageOf(error)})`)
    }
  }
  for (const place of placesOf(machineRoot)) await look(place, temporary)
  const { root, images } = machineRoot
  for (const { key } of await filesOf(machineRoot).list())
    await look({ root, parent: `instances/${key}` }, temporary)
  await look({ root, parent: 'snapshots' }, (entry) => partialSnapshot(root, entry))
  await look({ root, parent: 'uppers' }, (entry) => strayUpper(root, entry, now))
  await look({ root: images.root, parent: 'locks' }, ({ name }) =>
    name.endsWith('.lock') ? { kind: 'lock', retained: 'lock file retained' } : undefined,
  )
  return { orphans, notes }
}

interface Finding {
  readonly kind: OrphanKind
  /** What already speaks against it. */
  readonly retained?: string
}

function temporary({ name }: Dirent): Finding | undefined {
  if (name.startsWith(TRASH_PREFIX)) return { kind: 'trash' }
  return name.endsWith('.tmp') ? { kind: 'tmp' } : undefined
}

async function partialSnapshot(root: string, entry: Dirent): Promise<Finding | undefined> {
  if (temporary(entry) !== undefined || !entry.isDirectory()) return undefined
  const is = await presence(join(root, 'snapshots', entry.name, SNAPSHOT_FILE))
  if (is === 'there') return undefined
  return is === 'absent'
    ? { kind: 'snapshot' }
    : { kind: 'snapshot', retained: `${SNAPSHOT_FILE} cannot be looked at (${is.why})` }
}

async function strayUpper(root: string, entry: Dirent, now: Date): Promise<Finding | undefined> {
  if (temporary(entry) !== undefined) return undefined
  // An unmounted disk would make every upper one of nothing.
  if ((await presence(join(root, 'instances'))) !== 'there')
    return { kind: 'upper', retained: 'the directory "instances" is missing: nothing can be told' }
  const instance = join(root, 'instances', entry.name)
  const is = await presence(join(instance, 'metadata.json'))
  if (is === 'there') return undefined
  return is === 'absent'
    ? // The machine is marked before its upper is made, which has no mark of its own at first.
      { kind: 'upper', retained: await whyBeingMade(instance, now) }
    : { kind: 'upper', retained: `metadata.json cannot be looked at (${is.why})` }
}

async function presence(path: string): Promise<'there' | 'absent' | { readonly why: string }> {
  try {
    await lstat(path)
    return 'there'
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'absent' : { why: messageOf(error) }
  }
}

/** The context in which an orphan is judged. */
interface Look {
  readonly now: Date
  readonly inUse: FilesInUse
}

async function describe(
  machineRoot: MachineRoot,
  place: TrashLocation,
  name: string,
  { kind, retained = '' }: Finding,
  look: Look,
): Promise<Orphan> {
  const { backend } = machineRoot
  const path = join(place.root, place.parent, name)
  const known = { kind, name, path, place, backend }
  try {
    const stat = await lstat(path, { bigint: true })
    const changedAt = stat.mtime
    const isYoungFile =
      kind === 'tmp' && stat.isFile() && look.now.getTime() - changedAt.getTime() < TEMPORARY_FILE_MS
    const why = retained || (isYoungFile ? 'too recent: it may be being written' : '')
    // A number is given again as soon as it is free.
    const identity = `${stat.dev}:${stat.ino}:${stat.ctimeNs}`
    return { ...known, identity, changedAt, retained: why || (await whyRetained(known, stat, look)) }
  } catch (error) {
    return { ...known, identity: '', changedAt: new Date(0), retained: messageOf(error) }
  }
}

/** The time that whoever makes something has to end it. */
const GRACE_MS = 3_600_000

/** What speaks against deleting something that belongs to nothing; '' for nothing. */
async function whyRetained(
  { kind, name, path }: { readonly kind: string; readonly name: string; readonly path: string },
  stat: BigIntStats,
  { now, inUse }: Look,
): Promise<string> {
  if (stat.isSymbolicLink()) return 'it is a symbolic link: remove it by hand'
  // No lock keeps others from what has no name of the server's, such as lost+found.
  if ((kind === 'upper' || kind === 'snapshot') && !(isWorkspaceName(name) && name === nameKey(name)))
    return `its name is not a valid ${kind === 'upper' ? 'workspace' : 'snapshot'} name: remove it by hand`
  if (!stat.isDirectory()) return kind === 'upper' ? 'it is no directory: remove it by hand' : ''
  const making = kind === 'trash' ? '' : await whyBeingMade(path, now)
  if (making !== '') return making
  if ((mountPointsBelow(path)?.size ?? 0) > 0) return 'a file system is mounted in it'
  if (kind === 'upper') {
    const [user] = await findMachine({ disk: join(path, 'upper.ext4') })
    if (user !== undefined) return `process ${user.pid} has it`
  }
  return inUse.userOf(path)
}

/** Says that a directory bears the mark of what is being made; '' where it bears none that counts. */
async function whyBeingMade(path: string, now: Date): Promise<string> {
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
