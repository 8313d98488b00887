import type { Clock } from '../../lib/clock/clock.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { BackendName } from '../backend-name.ts'
import type { Outcome, Subject } from '../backend/trouble.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { WorkspaceTable } from './table.ts'

/** Troubles that are kept; a failing host could otherwise have several for each workspace (threat B5). */
const MAX_TROUBLES = 200
/** Causes that are logged for each trouble; their messages may contain numbers that change. */
const MAX_CAUSES = 8
const MAX_MESSAGE_LENGTH = 1_000
/** Work that is not repeated cannot end its trouble. */
const FORGET_MS = 24 * 60 * 60_000

/** Work of a backend that failed when it was last done. */
export interface Trouble {
  readonly backend: BackendName
  /** The work, as "cannot" continues. */
  readonly what: string
  /** The part for which it was done; '' for the backend as a whole. */
  readonly subject: string
  /** The last error. */
  readonly message: string
  readonly count: number
  readonly firstAt: Date
  readonly lastAt: Date
}

interface Entry {
  trouble: Trouble
  readonly subject: Subject | undefined
  readonly causes: Set<string>
  /** Workspaces whose timelines have it. */
  readonly noted: Set<string>
}

/** Dependencies of Troubles. */
export interface TroublesParts {
  readonly table: WorkspaceTable
  readonly timeline: Timeline
  readonly logger: Logger
  readonly clock: Clock
}

/** Failures of the backends' own work, such as restoring network rules, which no request reports. */
export class Troubles {
  readonly #parts: TroublesParts
  readonly #entries = new Map<string, Entry>()
  readonly #counts = new Map<
    string,
    { readonly backend: BackendName; readonly what: string; count: number }
  >()

  constructor(parts: TroublesParts) {
    this.#parts = parts
  }

  /** Current troubles, oldest first. */
  get current(): readonly Trouble[] {
    const sinceMs = this.#parts.clock.wallMs() - FORGET_MS
    return [...this.#entries.values()]
      .map(({ trouble }) => trouble)
      .filter(({ lastAt }) => lastAt.getTime() >= sinceMs)
  }

  /** Failures since the server started. */
  get counts(): readonly { readonly backend: BackendName; readonly what: string; readonly count: number }[] {
    return [...this.#counts.values()]
  }

  /** Notes an outcome: logs each cause of a failure once, counts it, and adds it to the timelines of running workspaces. */
  note(backend: BackendName, { what, error, subject }: Outcome): void {
    const { table, timeline, logger, clock } = this.#parts
    const key = JSON.stringify([backend, what, subject?.name])
    const known = this.#entries.get(key)
    if (error === undefined) {
      if (known === undefined) return
      this.#entries.delete(key)
      for (const name of known.noted)
        if (table.find(name) !== undefined) timeline.note(name, `the server can ${what} again`)
      return logger.info({ backend, subject: subject?.name }, `a backend can ${what} again`)
    }
    const message = messageOf(error).slice(0, MAX_MESSAGE_LENGTH)
    const at = new Date(clock.wallMs())
    const before = known?.trouble ?? { count: 0, firstAt: at }
    const trouble: Trouble = {
      backend,
      what,
      subject: subject?.name ?? '',
      message,
      count: before.count + 1,
      firstAt: before.firstAt,
      lastAt: at,
    }
    const entry = known ?? { trouble, subject, causes: new Set(), noted: new Set() }
    entry.trouble = trouble
    this.#entries.set(key, entry)
    if (this.#entries.size > MAX_TROUBLES) this.#entries.delete(this.#entries.keys().next().value ?? '')
    this.#countOne(backend, what)
    this.#addToTimelines(entry)
    if (entry.causes.has(message) || entry.causes.size >= MAX_CAUSES) return
    entry.causes.add(message)
    logger.error({ err: error, backend, subject: subject?.name }, `a backend cannot ${what}`)
  }

  /** Adds current troubles to the timelines of workspaces that have become known since. */
  addToTimelines(): void {
    for (const entry of this.#entries.values()) this.#addToTimelines(entry)
  }

  #countOne(backend: BackendName, what: string): void {
    const key = JSON.stringify([backend, what])
    const counted = this.#counts.get(key) ?? { backend, what, count: 0 }
    counted.count++
    this.#counts.set(key, counted)
  }

  #addToTimelines({ trouble, subject, noted }: Entry): void {
    const { table, timeline } = this.#parts
    if (subject === undefined) return
    for (const workspace of table.list()) {
      const { name, backend } = workspace
      if (backend !== trouble.backend || noted.has(name) || !subject.concerns(workspace)) continue
      noted.add(name)
      timeline.note(name, `the server cannot ${trouble.what}: ${trouble.message}`)
    }
  }
}
