import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import type { Logger } from '../../../lib/log/logger.ts'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { canRemoveSafely } from '../../../native/files/trash.ts'
import type { Bytes } from '../../bytes.ts'
import { fault } from '../../errors.ts'
import type { ImageLibrary } from '../../image/image-library.ts'
import { NOTHING, sumBytes } from '../bytes.ts'
import { measure } from '../measure.ts'
import type { Walker } from '../walker.ts'
import { type Candidate, type Findings, keyOf, type Skipped } from './candidate.ts'
import { findImages } from './find-images.ts'
import { findInstances, type InstanceParts } from './find-instances.ts'
import { findLogs } from './find-logs.ts'
import { findPrunableOrphans, type OrphanParts } from './find-orphans.ts'
import { freeSpaceAt } from './free-space.ts'
import { type Plan, PlanCache } from './plan-cache.ts'
import type { PruneRequest, KeepFree } from './request.ts'
import { systemClock } from '../../../lib/clock/clock.ts'

interface PrunedItem {
  readonly kind: Candidate['kind']
  readonly name: string
  readonly path: string
  readonly backend: Candidate['backend']
  readonly action: 'would_delete' | 'deleted' | 'truncated' | 'failed'
  readonly freed: Bytes
  readonly reason: string
  /** The error message if it failed; '' otherwise. */
  readonly error: string
}

/** Result of a prune or its dry run. */
export interface PruneReport {
  readonly isDryRun: boolean
  /** Id for applying exactly this plan; '' for a prune without a plan. */
  readonly planId: string
  readonly request: PruneRequest
  readonly items: readonly PrunedItem[]
  readonly skipped: readonly Skipped[]
  readonly notes: readonly string[]
  readonly freed: Bytes
}

/** Dependencies of a Pruner. */
export interface PrunerOptions extends InstanceParts, OrphanParts {
  readonly images: ImageLibrary
  readonly walker: Pick<Walker, 'walk'>
  readonly logger: Logger
}

type SizedCandidate = Candidate & { readonly freed: Bytes }

/**
 * Deletes what nothing needs. A plan lists what would be deleted and what is kept, each with a reason.
 * Applying it never deletes more than the plan listed (threat P7), and inspects each item again under its
 * lock.
 */
export class Pruner {
  readonly #options: PrunerOptions
  readonly #plans = new PlanCache(systemClock)
  readonly #turns = new KeyedLock()

  constructor(options: PrunerOptions) {
    this.#options = options
  }

  async plan(request: PruneRequest): Promise<PruneReport> {
    this.#check()
    const { chosen, skipped, notes } = await this.#choose(request)
    const plan = this.#plans.add(request, chosen)
    const items = chosen.map((each) => itemOf(each, 'would_delete'))
    const freed = sumBytes(chosen.map((each) => each.freed))
    return { isDryRun: true, planId: plan.id, request, items, skipped, notes, freed }
  }

  /**
   * Applies a plan with the values it was made with.
   *
   * @throws INVALID_REQUEST when the plan is unknown or `repeated` differs from its values
   */
  async applyPlan(
    id: string,
    repeated: Partial<PruneRequest>,
    progress: (message: string) => void,
  ): Promise<PruneReport> {
    this.#check()
    const plan = this.#plans.redeem(id, repeated)
    return this.#apply(plan.request, plan, progress)
  }

  /** Plans and applies in one step. */
  async apply(request: PruneRequest, progress: (message: string) => void): Promise<PruneReport> {
    this.#check()
    return this.#apply(request, undefined, progress)
  }

  #check(): void {
    if (canRemoveSafely()) return
    throw fault(
      'PRUNE_UNSUPPORTED',
      'pruning requires the native addon, which makes deletion safe; run npm run build:native',
    )
  }

  #apply(
    request: PruneRequest,
    plan: Plan | undefined,
    progress: (message: string) => void,
  ): Promise<PruneReport> {
    return this.#turns.run('prune', async () => {
      const { chosen, skipped, notes } = await this.#choose(request, plan)
      const items: PrunedItem[] = []
      const kept: Skipped[] = [...skipped]
      const allNotes: string[] = [...notes]
      for (const [i, candidate] of chosen.entries()) {
        const { kind, name, path } = candidate
        const what = `${i + 1} of ${chosen.length}: ${kind} ${name}`
        progress(what)
        if (request.keepFree !== undefined && (await this.#hasEnough(candidate, request))) {
          kept.push({ kind, name, path, reason: enough(request.keepFree) })
          continue
        }
        try {
          const removal = await candidate.remove((removed) => progress(`${what}, ${removed} files removed`))
          if (removal.is === 'kept') kept.push({ kind, name, path, reason: removal.reason })
          else items.push(itemOf({ ...candidate, freed: removal.freed ?? candidate.freed }, removal.is))
          if (removal.is === 'truncated' && removal.note !== undefined) allNotes.push(removal.note)
        } catch (error) {
          if (!isFault(error)) this.#options.logger.warn({ err: error, kind, path }, 'not pruned')
          items.push({ ...itemOf(candidate, 'failed'), freed: NOTHING, error: messageOf(error) })
        }
      }
      const freed = sumBytes(items.map((item) => item.freed))
      const planId = plan?.id ?? ''
      return { isDryRun: false, planId, request, items, skipped: kept, notes: allNotes, freed }
    })
  }

  /**
   * Returns the items that qualify now and what each would free; with a plan, only its items, and those that
   * no longer qualify as skipped.
   */
  async #choose(
    request: PruneRequest,
    plan?: Plan,
  ): Promise<{
    readonly chosen: readonly SizedCandidate[]
    readonly skipped: readonly Skipped[]
    readonly notes: readonly string[]
  }> {
    const all = await this.#find(request)
    const skipped: Skipped[] = [...all.skipped]
    const found = new Map(all.candidates.map((candidate) => [keyOf(candidate), candidate]))
    const planned = plan === undefined ? [...found.values()] : []
    for (const [key, identity] of plan?.items ?? []) {
      const candidate = found.get(key)
      if (candidate?.identity === identity) planned.push(candidate)
      else if (candidate !== undefined) {
        const { kind, name, path } = candidate
        skipped.push({ kind, name, path, reason: 'it has changed since the plan was made' })
      }
    }
    const { walker } = this.#options
    const measured = await measure(
      walker,
      planned.flatMap(({ parts }) => parts),
    )
    const sized = planned.map((candidate): SizedCandidate => {
      const freed = candidate.freed ?? sumBytes([NOTHING, ...candidate.parts.map(measured.sizeOf)])
      return { ...candidate, freed }
    })
    const notes = [...all.notes, ...measured.notes]
    if (measured.sharedBytes > 0)
      notes.push(
        `${measured.sharedBytes} bytes are shared among these items; the space actually freed may be less`,
      )
    if (request.keepFree === undefined) return { chosen: sized, skipped, notes }
    const selection = await selectOldest(sized, request.keepFree)
    return { chosen: selection.chosen, skipped: [...skipped, ...selection.skipped], notes }
  }

  async #find({ scopes, untilMs, logTailBytes }: PruneRequest): Promise<Findings> {
    const { roots, images, table } = this.#options
    const find = {
      images: () => findImages(images, table),
      instances: () => findInstances(this.#options, untilMs),
      orphans: () => findPrunableOrphans(this.#options),
      logs: () => findLogs(roots, logTailBytes),
    } as const
    const findings: Findings[] = []
    for (const scope of scopes) findings.push(await find[scope]())
    return {
      candidates: findings.flatMap(({ candidates }) => candidates),
      skipped: findings.flatMap(({ skipped }) => skipped),
      notes: [...new Set(findings.flatMap(({ notes }) => notes))],
    }
  }

  async #hasEnough({ path }: Candidate, { keepFree }: PruneRequest): Promise<boolean> {
    return keepFree !== undefined && (await freeSpaceAt(path, keepFree))?.missingBytes === 0
  }
}

function itemOf(candidate: SizedCandidate, action: PrunedItem['action']): PrunedItem {
  const { kind, name, path, backend, freed, reason } = candidate
  return { kind, name, path, backend, action, freed, reason, error: '' }
}

/** Returns why an item that could be deleted is kept. */
function enough(keepFree: KeepFree): string {
  return `enough space is free without it (${keepFree.is === 'share' ? `${keepFree.percent}%` : `${keepFree.bytes} bytes`})`
}

/** Selects the oldest items on each file system, as many as are needed to reach the target. */
async function selectOldest<T extends Candidate & { readonly freed: Bytes }>(
  candidates: readonly T[],
  keepFree: KeepFree,
): Promise<{ readonly chosen: readonly T[]; readonly skipped: readonly Skipped[] }> {
  const missing = new Map<number, number>()
  const chosen: T[] = []
  const skipped: Skipped[] = []
  for (const candidate of candidates.toSorted((a, b) => a.changedAt.getTime() - b.changedAt.getTime())) {
    const { kind, name, path, freed } = candidate
    const space = await freeSpaceAt(path, keepFree)
    if (space === undefined) {
      skipped.push({ kind, name, path, reason: 'its file system cannot be determined' })
      continue
    }
    const left = missing.get(space.device) ?? space.missingBytes
    if (left > 0) chosen.push(candidate)
    else skipped.push({ kind, name, path, reason: enough(keepFree) })
    missing.set(space.device, left - (left > 0 ? freed.physicalBytes : 0))
  }
  return { chosen, skipped }
}
