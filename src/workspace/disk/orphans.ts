import type { Dirent, BigIntStats } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { TRASH_PREFIX, type TrashLocation } from '../../native/files/trash.ts'
import { SNAPSHOT_FILE } from '../backend/microvm/usage.ts'
import type { MachineFiles } from '../backend/microvm/files/machine-files.ts'
import type { BackendName } from '../backend-name.ts'
import { filesOf, type MachineRoot, leftoverDirectories } from './machine-root.ts'
import { mountPointsBelow } from '../../native/files/mount-points.ts'
import { CREATING, creationMarkAgeMs } from '../backend/microvm/files/creating-mark.ts'
import { findMachine } from '../backend/microvm/stray-machines.ts'
import { isWorkspaceName, nameKey } from '../name.ts'
import { FilesInUse } from './files-in-use.ts'
import { shortDuration } from './short-duration.ts'

/**
 * Kinds of orphans: staging of interrupted work, partial snapshots, disks and checkpoints without a VM, locks, and remains
 * of deletions.
 */
export type OrphanKind = 'tmp' | 'snapshot' | 'checkpoint' | 'upper' | 'lock' | 'trash'

/** A file or directory that no workspace, image or snapshot uses. */
export interface Orphan {
  readonly kind: OrphanKind
  readonly name: string
  readonly path: string
  readonly place: TrashLocation
  readonly backend: BackendName
  /** Why it must be kept; '' when it can be deleted. */
  readonly retained: string
  /** Distinguishes it from a later entry of the same name. */
  readonly identity: string
  readonly changedAt: Date
}

/** The orphans of a root. */
export interface OrphanFindings {
  readonly orphans: readonly Orphan[]
  /** Sentences about directories that could not be read. */
  readonly notes: readonly string[]
}

/** A temporary file younger than this may still be written. */
const TEMPORARY_FILE_MS = 3_600_000

/**
 * Finds the orphans of a root. When in doubt an entry is retained, never treated as an orphan (threat P3).
 */
export async function findOrphans(machineRoot: MachineRoot, now: Date): Promise<OrphanFindings> {
  const notes: string[] = []
  const orphans: Orphan[] = []
  let inUse: Promise<FilesInUse> | undefined
  const search = async (
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
      notes.push(`${directory}: not searched (${messageOf(error)})`)
    }
  }
  for (const place of leftoverDirectories(machineRoot)) await search(place, temporary)
  const { root, images } = machineRoot
  const machines = await filesOf(machineRoot).list()
  for (const { key } of machines) await search({ root, parent: `instances/${key}` }, temporary)
  await search({ root, parent: 'snapshots' }, (entry) => partialSnapshot(root, entry))
  await search({ root, parent: 'checkpoints' }, (entry) => strayCheckpoint(root, entry, machines))
  await search({ root, parent: 'uppers' }, (entry) => strayUpper(root, entry, now))
  await search({ root: images.root, parent: 'locks' }, ({ name }) =>
    name.endsWith('.lock') ? { kind: 'lock', retained: 'lock file retained' } : undefined,
  )
  return { orphans, notes }
}

interface Finding {
  readonly kind: OrphanKind
  /** A reason to keep it that is already known. */
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
    : { kind: 'snapshot', retained: `${SNAPSHOT_FILE} cannot be checked (${is.why})` }
}

/** Finds a checkpoint of a VM that no longer exists: the name of its directory begins with the VM's id. */
async function strayCheckpoint(
  root: string,
  entry: Dirent,
  machines: Awaited<ReturnType<MachineFiles['list']>>,
): Promise<Finding | undefined> {
  if (temporary(entry) !== undefined || !entry.isDirectory()) return undefined
  const ids = machines.flatMap(({ reading }) => (reading.is === 'valid' ? [reading.record.id] : []))
  if (ids.some((id) => entry.name.startsWith(`${id}-`))) return undefined
  // If the disk with the instances is not mounted, every checkpoint would look like an orphan.
  if ((await presence(join(root, 'instances'))) !== 'there')
    return { kind: 'checkpoint', retained: 'the directory "instances" is missing' }
  const unreadable = machines.find(({ reading }) => reading.is === 'unreadable')
  return unreadable === undefined
    ? { kind: 'checkpoint' }
    : { kind: 'checkpoint', retained: `metadata.json of "${unreadable.key}" is unreadable` }
}

async function strayUpper(root: string, entry: Dirent, now: Date): Promise<Finding | undefined> {
  if (temporary(entry) !== undefined) return undefined
  // If the disk with the instances is not mounted, every upper would look like an orphan.
  if ((await presence(join(root, 'instances'))) !== 'there')
    return { kind: 'upper', retained: 'the directory "instances" is missing' }
  const instance = join(root, 'instances', entry.name)
  const is = await presence(join(instance, 'metadata.json'))
  if (is === 'there') return undefined
  return is === 'absent'
    ? // The VM is marked before its upper is created, which has no mark at first.
      { kind: 'upper', retained: await whyBeingMade(instance, now) }
    : { kind: 'upper', retained: `metadata.json cannot be checked (${is.why})` }
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
interface Context {
  readonly now: Date
  readonly inUse: FilesInUse
}

async function describe(
  machineRoot: MachineRoot,
  place: TrashLocation,
  name: string,
  { kind, retained = '' }: Finding,
  context: Context,
): Promise<Orphan> {
  const { backend } = machineRoot
  const path = join(place.root, place.parent, name)
  const common = { kind, name, path, place, backend }
  try {
    const stat = await lstat(path, { bigint: true })
    const changedAt = stat.mtime
    const isYoungFile =
      kind === 'tmp' && stat.isFile() && context.now.getTime() - changedAt.getTime() < TEMPORARY_FILE_MS
    const why = retained || (isYoungFile ? 'too recent: it may still be written' : '')
    // Inode numbers are reused as soon as they are free.
    const identity = `${stat.dev}:${stat.ino}:${stat.ctimeNs}`
    return { ...common, identity, changedAt, retained: why || (await whyRetained(common, stat, context)) }
  } catch (error) {
    return { ...common, identity: '', changedAt: new Date(0), retained: messageOf(error) }
  }
}

/** Time allowed for completing a creation. */
const GRACE_MS = 3_600_000

/** Returns why an orphan must not be deleted; '' when it may be. */
async function whyRetained(
  { kind, name, path }: { readonly kind: string; readonly name: string; readonly path: string },
  stat: BigIntStats,
  { now, inUse }: Context,
): Promise<string> {
  if (stat.isSymbolicLink()) return 'it is a symbolic link; remove it manually'
  // Names that are not the server's, such as lost+found, are not protected by a lock.
  if (
    (kind === 'upper' || kind === 'snapshot' || kind === 'checkpoint') &&
    !(isWorkspaceName(name) && name === nameKey(name))
  )
    return `its name is not a valid ${kind === 'upper' ? 'workspace' : kind} name; remove it manually`
  if (!stat.isDirectory()) return kind === 'upper' ? 'it is not a directory; remove it manually' : ''
  const making = kind === 'trash' ? '' : await whyBeingMade(path, now)
  if (making !== '') return making
  if ((mountPointsBelow(path)?.size ?? 0) > 0) return 'a file system is mounted in it'
  if (kind === 'upper') {
    const [user] = await findMachine({ disk: join(path, 'upper.ext4') })
    if (user !== undefined) return `process ${user.pid} has it open`
  }
  return inUse.userOf(path)
}

/** Returns that a directory has a creation mark; '' without a valid one. */
async function whyBeingMade(path: string, now: Date): Promise<string> {
  const ageMs = await makingAgeMs(path, now)
  return ageMs !== undefined && ageMs < GRACE_MS
    ? `being created (its mark is ${shortDuration(ageMs)} old and expires after 1h)`
    : ''
}

/**
 * Returns the time since the mark or the last write, the later of the two: a large copy may take
 * more than an hour.
 */
async function makingAgeMs(path: string, now: Date): Promise<number | undefined> {
  const markMs = await creationMarkAgeMs(join(path, CREATING), now)
  if (markMs === undefined) return undefined
  const others = (await readdir(path)).filter((name) => name !== CREATING)
  const times = await Promise.all(others.map(async (name) => (await lstat(join(path, name))).mtimeMs))
  return Math.max(0, Math.min(markMs, now.getTime() - Math.max(0, ...times)))
}
