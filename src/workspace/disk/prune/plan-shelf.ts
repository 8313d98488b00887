import { randomBytes } from 'node:crypto'
import { fault } from '../../errors.ts'
import { type Candidate, keyOf } from './candidate.ts'
import type { PruneRequest } from './request.ts'
import type { Clock } from '../../../lib/clock/clock.ts'

const MAX_PLANS = 64
const MAX_AGE_MS = 3_600_000

/** What was shown to somebody, who may then have it done. */
export interface Plan {
  readonly id: string
  readonly request: PruneRequest
  /** The identity of each item by its key. */
  readonly items: ReadonlyMap<string, string>
  readonly madeAtMs: number
}

/** The last plans, for an hour; times are of one monotonic clock. */
export class PlanShelf {
  readonly #plans = new Map<string, Plan>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(request: PruneRequest, candidates: readonly Candidate[]): Plan {
    const items = new Map(candidates.map((candidate) => [keyOf(candidate), candidate.identity]))
    const plan = { id: randomBytes(12).toString('hex'), request, items, madeAtMs: this.#clock.nowMs() }
    this.#plans.set(plan.id, plan)
    const [oldest] = this.#plans.keys()
    if (this.#plans.size > MAX_PLANS && oldest !== undefined) this.#plans.delete(oldest)
    return plan
  }

  /** Takes a plan away: it is done once. @throws INVALID_REQUEST for one that is not known any more */
  take(id: string): Plan {
    const plan = this.#plans.get(id)
    this.#plans.delete(id)
    if (plan !== undefined && this.#clock.nowMs() - plan.madeAtMs <= MAX_AGE_MS) return plan
    throw fault(
      'INVALID_REQUEST',
      `plan_id ${JSON.stringify(id.slice(0, 40))} is not known, done already or older than an hour; ask with dry_run=true again`,
    )
  }
}
