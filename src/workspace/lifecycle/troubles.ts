import type { Clock } from '../../lib/clock/clock.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { BackendName } from '../backend-name.ts'
import type { Outcome, Subject } from '../backend/trouble.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { WorkspaceTable } from './table.ts'

/** Troubles of one kind that are kept and logged; a failing host could otherwise have one for each workspace (threat B5). */
const MAX_OF_KIND = 50
/** Causes that are logged for each trouble; their messages may contain numbers that change. */
const MAX_CAUSES = 8
const MAX_MESSAGE_LENGTH = 1_000
/** Work that is not repeated cannot end its trouble. */
const FORGET_MS = 24 * 60 * 60_000
/** A trouble that comes and goes is logged as often. */
const QUIET_MS = 10 * 60_000

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
  /** Undefined once the work has succeeded. */
  trouble: Trouble | undefined
  readonly subject: Subject | undefined
  /** When each cause was logged. */
  readonly logged: Map<string, number>
  /** Whether this trouble was logged since the work last succeeded. */
  isLogged: boolean
  /** Workspaces whose timelines have it. */
  readonly noted: Set<string>
}

/** Troubles of one kind, and how often that work failed. */
interface Kind {
  readonly backend: BackendName
  readonly what: string
  count: number
  readonly entries: Map<string, Entry>
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
  readonly #kinds = new Map<string, Kind>()

  constructor(parts: TroublesParts) {
    this.#parts = parts
    parts.table.onChange((change) => {
      if (change.type === 'deleted') this.#drop(change.name)
      else if (change.workspace.state.is === 'starting') this.#drop(change.workspace.name)
    })
  }

  /** Current troubles. */
  get current(): readonly Trouble[] {
    const sinceMs = this.#parts.clock.wallMs() - FORGET_MS
    return [...this.#kinds.values()]
      .flatMap(({ entries }) => [...entries.values()])
      .flatMap(({ trouble }) => (trouble === undefined ? [] : [trouble]))
      .filter(({ lastAt }) => lastAt.getTime() >= sinceMs)
  }

  /** Failures since the server started. */
  get counts(): readonly { readonly backend: BackendName; readonly what: string; readonly count: number }[] {
    return [...this.#kinds.values()]
      .filter(({ count }) => count > 0)
      .map(({ backend, what, count }) => ({ backend, what, count }))
  }

  /** Notes an outcome: logs each cause of a failure once, counts it, and adds it to the timelines of the workspaces concerned. */
  note(backend: BackendName, { what, error, subject }: Outcome): void {
    const kind = this.#kindOf(backend, what)
    const key = subject?.name ?? ''
    const known = kind.entries.get(key)
    if (error === undefined) return this.#end(known)
    kind.count++
    const entry = known ?? this.#add(kind, key, subject)
    if (entry === undefined) return
    const message = messageOf(error).slice(0, MAX_MESSAGE_LENGTH)
    const at = new Date(this.#parts.clock.wallMs())
    const { count, firstAt } = entry.trouble ?? { count: 0, firstAt: at }
    const trouble = { backend, what, subject: key, message, count: count + 1, firstAt, lastAt: at }
    entry.trouble = trouble
    this.#log(trouble, entry, error)
    this.#addToTimelines(entry)
  }

  /** Adds current troubles to the timelines of workspaces that have become known since. */
  addToTimelines(): void {
    for (const { entries } of this.#kinds.values())
      for (const entry of entries.values()) this.#addToTimelines(entry)
  }

  #kindOf(backend: BackendName, what: string): Kind {
    const key = JSON.stringify([backend, what])
    const kind: Kind = this.#kinds.get(key) ?? { backend, what, count: 0, entries: new Map() }
    this.#kinds.set(key, kind)
    return kind
  }

  /** Returns undefined when there are too many of the kind; they are only counted. */
  #add({ entries }: Kind, key: string, subject: Subject | undefined): Entry | undefined {
    for (const [old, entry] of entries) if (this.#isOver(entry)) entries.delete(old)
    if (entries.size >= MAX_OF_KIND) return undefined
    const entry: Entry = { trouble: undefined, subject, logged: new Map(), isLogged: false, noted: new Set() }
    entries.set(key, entry)
    return entry
  }

  #isOver({ trouble, logged }: Entry): boolean {
    const nowMs = this.#parts.clock.wallMs()
    if (trouble !== undefined) return trouble.lastAt.getTime() < nowMs - FORGET_MS
    return [...logged.values()].every((atMs) => atMs < nowMs - QUIET_MS)
  }

  /** Drops the troubles of a workspace that was deleted or is started again. */
  #drop(workspace: string): void {
    for (const { entries } of this.#kinds.values())
      for (const [key, { subject }] of entries) if (subject?.workspace === workspace) entries.delete(key)
  }

  #end(entry: Entry | undefined): void {
    if (entry?.trouble === undefined) return
    const { backend, what, subject } = entry.trouble
    entry.trouble = undefined
    const { table, timeline, logger } = this.#parts
    for (const name of entry.noted)
      if (table.find(name) !== undefined) timeline.note(name, `the server can ${what} again`)
    if (entry.isLogged) logger.info({ backend, subject }, `a backend can ${what} again`)
    entry.noted.clear()
    entry.isLogged = false
  }

  #log({ backend, what, subject, message }: Trouble, entry: Entry, error: unknown): void {
    const { logger, clock } = this.#parts
    const { logged } = entry
    const nowMs = clock.wallMs()
    if (!entry.isLogged) for (const [cause, atMs] of logged) if (atMs < nowMs - QUIET_MS) logged.delete(cause)
    if (logged.has(message) || logged.size >= MAX_CAUSES) return
    logged.set(message, nowMs)
    entry.isLogged = true
    logger.error({ err: error, backend, subject }, `a backend cannot ${what}`)
  }

  #addToTimelines({ trouble, subject, isLogged, noted }: Entry): void {
    const { table, timeline } = this.#parts
    if (trouble === undefined || subject === undefined || !isLogged) return
    for (const workspace of table.list()) {
      const { name, backend } = workspace
      if (backend !== trouble.backend || noted.has(name) || !subject.concerns(workspace)) continue
      noted.add(name)
      timeline.note(name, `the server cannot ${trouble.what}: ${trouble.message}`)
    }
  }
}
