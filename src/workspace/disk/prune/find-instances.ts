import { messageOf } from '../../../lib/errors/message.ts'
import type { Backend, BackendUsage, UsagePart } from '../../backend/backend.ts'
import type { Lifecycle } from '../../lifecycle/lifecycle.ts'
import type { WorkspaceTable } from '../../lifecycle/table.ts'
import type { Workspace } from '../../workspace.ts'
import { FilesInUse } from '../files-in-use.ts'
import { shortDuration } from '../short-duration.ts'
import type { Candidate, Findings, Skipped } from './candidate.ts'
import type { ClockWatch } from './clock-watch.ts'

/** Dependencies of findInstances. */
export interface InstanceParts {
  readonly table: WorkspaceTable
  readonly lifecycle: Lifecycle
  readonly backends: readonly Backend[]
  readonly clock: ClockWatch
  /** Returns the files in use; defaults to inspecting this machine. */
  readonly findInUse?: () => Promise<FilesInUse>
}

/** Finds stopped workspaces that have not changed for some time, and why the others are kept. */
export async function findInstances(parts: InstanceParts, untilMs: number): Promise<Findings> {
  const { table, lifecycle, backends, clock, findInUse = () => FilesInUse.read() } = parts
  const candidates: Candidate[] = []
  const skipped: Skipped[] = []
  const notes: string[] = []
  let read: Promise<FilesInUse> | undefined
  const readCached = () => (read ??= findInUse())
  for (const backend of backends) {
    const usage = await readUsage(backend, notes)
    if (usage === undefined) continue
    const workspaces = table.list().filter((workspace) => workspace.backend === backend.name)
    for (const workspace of workspaces) {
      const { name } = workspace
      const path = workspace.rootfsPath || (usage.workspaces.get(name)?.[0]?.path ?? '')
      const files = usage.workspaces.get(name) ?? []
      const assessment = await unlessInUse(
        await assess(workspace, backend, clock, untilMs),
        files,
        readCached,
      )
      if (assessment.is === 'kept') {
        skipped.push({ kind: 'instance', name, path, reason: assessment.reason })
        continue
      }
      candidates.push({
        kind: 'instance',
        name,
        path,
        backend: backend.name,
        identity: `${workspace.createdAt.toISOString()} ${assessment.changedAt.toISOString()}`,
        reason: assessment.reason,
        parts: files,
        changedAt: assessment.changedAt,
        remove: async () => {
          const removal = await lifecycle.whileIdle(name, async (now, remove) => {
            if (now === undefined) return { is: 'kept', reason: 'it no longer exists' } as const
            // Under its lock: it may have been started, or deleted and created again (threat P4).
            const old = await assess(now, backend, clock, untilMs)
            const again = await unlessInUse(old, files, findInUse)
            if (again.is === 'kept') return again
            if (
              now.createdAt.getTime() !== workspace.createdAt.getTime() ||
              again.changedAt.getTime() !== assessment.changedAt.getTime()
            )
              return { is: 'kept', reason: 'it has changed in the meantime' } as const
            await remove()
            return { is: 'deleted' } as const
          })
          return removal ?? { is: 'kept', reason: 'cannot prune a workspace that is being created' }
        },
      })
    }
    for (const [name, all] of usage.workspaces) {
      if (table.find(name) !== undefined) continue
      const reason = await whyUnlisted(backend, name)
      skipped.push({ kind: 'instance', name, path: all[0]?.path ?? '', reason })
    }
  }
  return { candidates, skipped, notes }
}

/**
 * Returns why files of an unlisted workspace are kept: on request, or because the workspace has just entered
 * state `error`.
 */
async function whyUnlisted(backend: Backend, name: string): Promise<string> {
  try {
    const state = (await backend.find(name))?.state
    return state?.is === 'error'
      ? inError(state.message)
      : 'its files are kept for the next workspace of that name'
  } catch (error) {
    return `its state is unknown: ${messageOf(error)}`
  }
}

function inError(message: string): string {
  return `cannot prune workspace in state error: ${message}`
}

async function readUsage(backend: Backend, notes: string[]): Promise<BackendUsage | undefined> {
  try {
    return await backend.usage()
  } catch (error) {
    notes.push(`${backend.name}: its workspaces are not pruned (${messageOf(error)})`)
    return undefined
  }
}

type Assessment =
  | { readonly is: 'old'; readonly changedAt: Date; readonly reason: string }
  | { readonly is: 'kept'; readonly reason: string }

function kept(reason: string): Assessment {
  return { is: 'kept', reason }
}

/** Keeps workspaces whose files a program has open, for instance as the disk of another VM. */
async function unlessInUse(
  assessment: Assessment,
  parts: readonly UsagePart[],
  read: () => Promise<FilesInUse>,
): Promise<Assessment> {
  if (assessment.is === 'kept' || parts.length === 0) return assessment
  const inUse = await read()
  for (const { path } of parts) {
    const user = await inUse.userOfFile(path)
    if (user !== '') return kept(`${path}: ${user}`)
  }
  return assessment
}

async function assess(
  { name, state }: Workspace,
  backend: Backend,
  clock: ClockWatch,
  untilMs: number,
): Promise<Assessment> {
  if (state.is === 'error') return kept(inError(state.message))
  if (state.is !== 'stopped') return kept(`cannot prune ${state.is} workspace`)
  let changedAt: Date
  try {
    changedAt = await backend.changedAt(name)
    // The table may lag behind.
    const now = await backend.find(name)
    if (now?.state.is === 'error') return kept(inError(now.state.message))
    if (now?.state.is !== 'stopped') return kept(`cannot prune ${now?.state.is ?? 'vanished'} workspace`)
  } catch (error) {
    return kept(`its state is unknown (${messageOf(error)})`)
  }
  const ageMs = clock.now.getTime() - changedAt.getTime()
  const age = shortDuration(Math.max(0, ageMs))
  if (untilMs === 0) return { is: 'old', changedAt, reason: `stopped for ${age}` }
  if (ageMs < 0) return kept('too recent (changed in the future: check the clock, or use --until 0s)')
  const { setByMs } = clock
  if (setByMs !== 0) {
    const by = `${shortDuration(Math.abs(setByMs))} ${setByMs > 0 ? 'ahead' : 'back'}`
    return kept(`possibly too recent (the clock was set ${by} since the server started)`)
  }
  if (ageMs < untilMs) return kept(`too recent (${age} < ${shortDuration(untilMs)})`)
  return { is: 'old', changedAt, reason: `stopped for ${age}` }
}
