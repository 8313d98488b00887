import type { Remnant } from './clean-up.ts'
import type { Finding } from './compare.ts'
import type { FaultKind } from './kinds.ts'
import type { Operation } from './ledger.ts'

/** Faults of one kind in a run. */
export interface FaultSummary {
  readonly kind: FaultKind
  readonly count: number
  /** Times from each fault until the server did its work again. */
  readonly recoveriesMs: readonly number[]
  /** Why none could be injected; undefined if they could. */
  readonly whyNot: string | undefined
}

/** The result of a run. */
export interface TortureReport {
  readonly seed: number
  readonly durationMs: number
  readonly rounds: number
  readonly faults: readonly FaultSummary[]
  readonly acknowledged: ReadonlyMap<Operation, number>
  /** Number of operations that may have happened or not. */
  readonly unanswered: number
  readonly findings: readonly Finding[]
  /** Objects that could not be removed, with the command that removes them. */
  readonly remnants: readonly Remnant[]
  /** Traffic that was not possible here, and why. */
  readonly notes: readonly string[]
  /** The server's log, kept only with findings. */
  readonly logFile: string | undefined
}

/** Whether a run checked anything, found nothing and left nothing. */
export function isClean({ rounds, acknowledged, findings, remnants }: TortureReport): boolean {
  return rounds > 0 && acknowledged.size > 0 && findings.length === 0 && remnants.length === 0
}
