import type { Workspace } from '../workspace.ts'

/** The outcome of work that a backend does without a request, such as restoring rules. */
export interface Outcome {
  /** The work, as "cannot" continues; the same for all outcomes of its kind. */
  readonly what: string
  /** Undefined when the work succeeded, which ends earlier trouble. */
  readonly error: unknown
  /** The part for which it was done; undefined for the backend as a whole. */
  readonly subject?: Subject | undefined
}

/** A part of a backend. */
export interface Subject {
  /** Its name in messages, unique in the backend. */
  readonly name: string
  /** Whether a workspace depends on it. */
  readonly concerns: (workspace: Workspace) => boolean
  /** Its workspace, if it is one: the trouble ends with its deletion or next start. */
  readonly workspace?: string
}

/** Receives outcomes. */
export type Report = (outcome: Outcome) => void

/** The work that keeps guests within the network policy. */
export const APPLY_RULES = 'apply the network rules'

/** Returns the subject that is one workspace. */
export function workspaceSubject(name: string): Subject {
  return { name: `workspace "${name}"`, workspace: name, concerns: (workspace) => workspace.name === name }
}

/** Does work whose failure is reported instead of thrown, unless the signal is aborted. Returns whether it succeeded. */
export async function attempt(
  report: Report,
  what: string,
  work: () => Promise<unknown>,
  subject?: Subject,
  signal?: AbortSignal,
): Promise<boolean> {
  let error: unknown
  try {
    await work()
  } catch (thrown) {
    error = thrown
  }
  if (signal?.aborted !== true) report({ what, error, subject })
  return error === undefined
}

const RETRY_MS = 10_000

/** Repeats work in the background, with a pause, until it succeeds or the signal is aborted. Resolves after the first attempt. */
export async function attemptUntilDone(
  report: Report,
  what: string,
  work: () => Promise<unknown>,
  signal: AbortSignal,
  subject?: Subject,
): Promise<void> {
  if (await attempt(report, what, work, subject, signal)) return
  setTimeout(() => {
    if (!signal.aborted) void attemptUntilDone(report, what, work, signal, subject)
  }, RETRY_MS).unref()
}
