import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { fault } from '../../errors.ts'
import { type Candidate, keyOf } from './candidate.ts'
import type { PruneRequest } from './request.ts'
import type { Clock } from '../../../lib/clock/clock.ts'

const MAX_PLANS = 64
const MAX_AGE_MS = 3_600_000

/** A dry run's result, which the caller may then apply. */
export interface Plan {
  readonly id: string
  readonly request: PruneRequest
  /** Identities of the items, by key. */
  readonly items: ReadonlyMap<string, string>
  readonly madeAtMs: number
}

/** Keeps the latest plans for an hour, measured with a monotonic clock. */
export class PlanCache {
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

  /**
   * Returns and removes a plan, which can be applied only once. A plan whose values are repeated incorrectly
   * stays.
   *
   * @throws INVALID_REQUEST when the plan is not known any more, or was made with values other than
   * `repeated`
   */
  redeem(id: string, repeated: Partial<PruneRequest>): Plan {
    const plan = this.#plans.get(id)
    const named = `plan_id ${JSON.stringify(id.slice(0, 40))}`
    if (plan === undefined || this.#clock.nowMs() - plan.madeAtMs > MAX_AGE_MS) {
      this.#plans.delete(id)
      throw fault(
        'INVALID_REQUEST',
        `${named} is unknown, already applied or older than an hour; request a new one with dry_run=true`,
      )
    }
    if (!isDeepStrictEqual({ ...plan.request, ...repeated }, plan.request)) {
      throw fault(
        'INVALID_REQUEST',
        `${named} was made with different values: scope, until, log_tail_bytes and keep_free must equal the plan's or be omitted`,
      )
    }
    this.#plans.delete(id)
    return plan
  }
}
