import type { Logger } from '../../lib/log/logger.ts'
import type { Clock } from '../../lib/clock/clock.ts'
import type { Backend } from '../backend/backend.ts'
import type { ForkOrigin, Forks } from '../backend/fork.ts'
import type { BackendName } from '../backend-name.ts'
import { fault } from '../errors.ts'
import { nameKey, parseWorkspaceName } from '../name.ts'
import type { Creator } from '../team/creator.ts'
import type { Timeline } from '../timeline/timeline.ts'
import { MAX_FORKS } from '../max-forks.ts'
import type { Workspace } from '../workspace.ts'
import type { CreateRequest } from './create-request.ts'
import { ForkGroup } from './fork-group.ts'
import { getBackend } from './get-backend.ts'
import type { Checkpointer } from './checkpointer.ts'
import type { Lifecycle } from './lifecycle.ts'
import type { WorkspaceTable } from './table.ts'

/** An unvalidated request for forks; null and absent are equivalent. */
export interface ForkInput {
  /** Number of forks; default 1. */
  readonly count?: number | null | undefined
  /** Their names are the prefix with a number each, from 1; default `NAME-fork` with the next free numbers. */
  readonly prefix?: string | null | undefined
  /** Their names, in place of `count` and `prefix`. */
  readonly names?: readonly string[] | null | undefined
  /** Whether they continue its programs; by default where that is possible. */
  readonly memory?: boolean | null | undefined
  /** Id of the checkpoint to create them from, in place of its current files. */
  readonly checkpoint?: string | null | undefined
  /** Who creates them; undefined for the server itself. */
  readonly creator?: Creator | undefined
}

/** New forks. */
export interface Forked {
  readonly workspaces: readonly Workspace[]
  /** How long the source was paused; 0 if it was not running. */
  readonly pausedMs: number
  /** Whether they continue its programs; otherwise they have booted. */
  readonly hasMemory: boolean
}

/** Dependencies of a Forker. */
export interface ForkerOptions {
  readonly table: WorkspaceTable
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly lifecycle: Pick<Lifecycle, 'whileIdle' | 'admit'>
  readonly checkpointer: Pick<Checkpointer, 'hold' | 'release'>
  readonly timeline: Timeline
  readonly clock: Clock
  readonly logger: Logger
}

/** Forks under way. */
interface Forking {
  readonly group: ForkGroup
  readonly createdAt: Date
  readonly names: readonly string[]
  readonly creations: readonly Promise<Workspace>[]
  /** Releases the copy once all of them are created, or none will be. */
  readonly release: (origin: ForkOrigin) => Promise<void>
  /** Undefined when the source could not be copied, which fails all of them. */
  readonly origin: ForkOrigin | undefined
}

/**
 * Creates workspaces with the files and settings of another, which is locked only while it is copied. Each fork is an ordinary
 * creation, which a mark on disk records before anything of it exists, and none is complete before all are.
 */
export class Forker {
  readonly #options: ForkerOptions

  constructor(options: ForkerOptions) {
    this.#options = options
  }

  /**
   * Forks a running, stopped or suspended workspace. Responds when all forks are running.
   *
   * @throws FORK_UNSUPPORTED when it cannot be forked
   * @throws WORKSPACE_NOT_STOPPED when it is in an error
   * @throws WORKSPACE_ALREADY_EXISTS when a name is taken
   */
  async fork(nameInput: unknown, input: ForkInput): Promise<Forked> {
    const name = parseWorkspaceName(nameInput)
    const begun = await this.#options.lifecycle.whileIdle(name, () => this.#begin(name, input))
    if (begun === undefined) throw fault('WORKSPACE_BUSY', `workspace "${name}" is still being created`)
    const { group, creations, origin, release } = begun
    const results = await Promise.allSettled(creations)
    if (origin !== undefined)
      await release(origin).catch((error: unknown) => {
        this.#options.logger.warn(
          { err: error, workspace: name },
          'the copy of a fork is removed at the next start',
        )
      })
    const workspaces = results.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
    if (origin !== undefined && workspaces.length === creations.length)
      return { workspaces, pausedMs: origin.pausedMs, hasMemory: origin.hasMemory }
    await this.#removeAll(begun)
    throw group.signal.reason
  }

  /** Copies the source, whose lock the caller holds, while the creations of its forks wait for the copy. */
  async #begin(name: string, input: ForkInput): Promise<Forking> {
    const { table, timeline, lifecycle, clock } = this.#options
    const source = table.get(name)
    const forks = this.#forksOf(source)
    const names = this.#namesOf(source, input)
    input.creator?.checkQuota(names.map(() => source))
    const group = new ForkGroup(source, names.length)
    const createdAt = new Date(clock.wallMs())
    const why = 'a client created it as a fork'
    const admitted = names.map((each) =>
      lifecycle.admit(requestOf(each, group, input.creator), createdAt, why),
    )
    const creations = admitted.map(({ make }) => make(() => undefined))
    for (const creation of creations) creation.catch((error: unknown) => group.fail(error))
    const { take, release } = this.#copying(source, forks, input, group)
    const begun = { group, createdAt, names, creations, release }
    try {
      const origin = await take()
      // Without their names, which not everybody may see who sees the source.
      timeline.note(
        source.name,
        `a client forked it ${counted(names.length)} (paused for ${origin.pausedMs} ms)`,
      )
      group.begin(origin)
      return { ...begun, origin }
    } catch (error) {
      group.fail(error)
      return { ...begun, origin: undefined }
    }
  }

  /** Returns how the files of the source are copied, or taken from a checkpoint. */
  #copying(source: Workspace, forks: Forks, { checkpoint: id, memory }: ForkInput, group: ForkGroup) {
    const { checkpointer } = this.#options
    if (typeof id !== 'string') {
      const copy = { children: group.count, memory: memory ?? undefined }
      return {
        take: () => forks.take(source.name, copy, group.signal),
        release: (origin: ForkOrigin) => forks.release(origin.id),
      }
    }
    const take = async (): Promise<ForkOrigin> => {
      if (memory === true)
        throw fault('FORK_UNSUPPORTED', `checkpoint "${id}" has no memory; leave out "memory"`)
      return { id: await checkpointer.hold(source, id), pausedMs: 0, hasMemory: false }
    }
    return { take, release: () => Promise.resolve(checkpointer.release(id)) }
  }

  #forksOf({ name, state, localDir, backend }: Workspace): Forks {
    const { forks } = getBackend(this.#options.backends, backend)
    if (forks === undefined)
      throw fault(
        'FORK_UNSUPPORTED',
        `${backend} workspaces cannot be forked; export "${name}" and import it`,
      )
    if (localDir !== '')
      throw fault(
        'FORK_UNSUPPORTED',
        `workspace "${name}" cannot be forked: its files are in ${localDir}, which a fork would share; create another workspace on a copy of that directory`,
      )
    if (state.is === 'error' || state.is === 'starting')
      throw fault(
        'WORKSPACE_NOT_STOPPED',
        `workspace "${name}" is ${state.is}; start or stop it before forking it`,
      )
    return forks
  }

  /** Returns the names of the forks, all of which are free. */
  #namesOf({ name }: Workspace, { count, prefix, names, creator }: ForkInput): readonly string[] {
    const { table } = this.#options
    if (names !== null && names !== undefined && (typeof count === 'number' || typeof prefix === 'string'))
      throw fault('INVALID_REQUEST', 'names excludes count and prefix')
    const wanted =
      names ??
      numbered(prefix ?? `${name}-fork`, count ?? 1, (each) =>
        typeof prefix === 'string' ? false : table.find(each) !== undefined,
      )
    if (wanted.length === 0 || wanted.length > MAX_FORKS)
      throw fault('INVALID_REQUEST', `a request creates 1 to ${MAX_FORKS} forks, not ${wanted.length}`)
    const parsed = wanted.map(parseWorkspaceName)
    for (const each of parsed) creator?.checkName(each)
    if (new Set(parsed.map(nameKey)).size < parsed.length)
      throw fault('INVALID_REQUEST', 'names contains the same name twice')
    const taken = parsed.map((each) => table.find(each)).find((each) => each !== undefined)
    if (taken === undefined) return parsed
    throw fault('WORKSPACE_ALREADY_EXISTS', `workspace "${taken.name}" already exists; choose other names`)
  }

  /** Removes forks that were complete when another failed, but no later workspace of that name. */
  async #removeAll({ names, createdAt }: Forking): Promise<void> {
    const { lifecycle } = this.#options
    const removals = names.map((name) =>
      lifecycle.whileIdle(name, async (workspace, remove) => {
        if (workspace?.createdAt.getTime() === createdAt.getTime() && workspace.state.is !== 'error')
          await remove()
      }),
    )
    for (const { reason } of (await Promise.allSettled(removals)).filter(
      (each) => each.status === 'rejected',
    ))
      this.#options.logger.warn({ err: reason as unknown }, 'cannot remove a fork whose sibling failed')
  }
}

function counted(count: number): string {
  return count === 1 ? 'once' : `${count} times`
}

function numbered(prefix: string, count: number, isTaken: (name: string) => boolean): readonly string[] {
  const found: string[] = []
  for (let i = 1; found.length < count; i += 1) {
    const name = `${prefix}-${i}`
    if (!isTaken(name)) found.push(name)
  }
  return found
}

/** Describes a fork: everything of its source but an expiry, because a copy must not delete itself. */
function requestOf(name: string, group: ForkGroup, creator: Creator | undefined): CreateRequest {
  const { backend, image, repo, cpus, memoryMb, networkLimits, labels, wakes } = group.source
  const { idle, checkpoints, schedule } = group.source
  return {
    name,
    backend,
    image,
    repo: repo === '' ? undefined : { url: repo },
    cpus,
    memoryMb,
    networkLimits,
    labels,
    wakes,
    idle,
    checkpoints,
    schedule,
    ownership: creator?.ownership,
    isImageGiven: true,
    localDir: '',
    upperBytes: 0,
    fromSnapshot: '',
    isProvisioned: false,
    // The source's comes with its image or record.
    environment: {},
    devContainer: { is: 'none' },
    dotfiles: undefined,
    forkGroup: group,
  }
}
