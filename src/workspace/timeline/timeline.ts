import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../lib/clock/clock.ts'
import { nameKey } from '../name.ts'
import type { Workspace, WorkspaceChange, WorkspaceState } from '../workspace.ts'
import type { Phase } from './phase.ts'
import type { TimelineEntry } from './timeline-entry.ts'
import type { Identity, TimelineFile } from './timeline-file.ts'

/** Entries kept for each workspace; the oldest are dropped (threat B5). */
const MAX_ENTRIES = 100
const MAX_TEXT_LENGTH = 1_000

/** Why a workspace is not running, and what to do. */
export interface Explanation {
  readonly reason: string
  /** The entry before; undefined if none is known. */
  readonly before: TimelineEntry | undefined
  readonly remedy: string
}

interface History {
  entries: TimelineEntry[]
  /** Undefined until the workspace is observed. */
  identity: Identity | undefined
  /** Undefined until it is observed by this server. */
  state: WorkspaceState | undefined
  /** Reason of the next change of state. */
  reason: string | undefined
  /** Monotonic time at which the running phase began. */
  phaseBeganMs: number
}

/**
 * History of each workspace: the phases of its starts, and its states with their reasons. Bounded for each workspace, and
 * forgotten with it.
 */
export class Timeline {
  readonly #clock: Clock
  readonly #file: TimelineFile | undefined
  readonly #histories = new Map<string, History>()
  readonly #listeners: ((phase: Phase, durationMs: number, outcome: 'done' | 'failed') => void)[] = []

  /** @param file continues the histories of an earlier server; without it they end with this one */
  constructor(clock: Clock, file?: TimelineFile) {
    this.#clock = clock
    this.#file = file
  }

  /** Entries of a workspace, oldest first. */
  of(name: string): readonly TimelineEntry[] {
    return this.#histories.get(nameKey(name))?.entries ?? []
  }

  /** Sets the reason of a workspace's next change of state, until `endReason`. */
  because(name: string, reason: string): void {
    this.#historyOf(name).reason = reason
  }

  /** Drops the reason of an operation that has ended, even if it changed no state. */
  endReason(name: string): void {
    const history = this.#histories.get(nameKey(name))
    if (history !== undefined) history.reason = undefined
  }

  /** Records an event that does not change the state. */
  note(name: string, text: string): void {
    this.#add(this.#historyOf(name), { is: 'note', at: this.#now(), text })
  }

  /** Begins a phase, which ends the one before. */
  enter(name: string, phase: Phase): void {
    this.leave(name, 'done')
    const history = this.#historyOf(name)
    history.phaseBeganMs = this.#clock.nowMs()
    this.#add(history, { is: 'phase', at: this.#now(), phase, outcome: 'running', durationMs: undefined })
  }

  /** Ends the running phase, if any. */
  leave(name: string, outcome: 'done' | 'failed'): void {
    const history = this.#histories.get(nameKey(name))
    const index = history?.entries.findLastIndex((each) => each.is === 'phase' && each.outcome === 'running')
    const running = history?.entries[index ?? -1]
    if (history === undefined || index === undefined || running?.is !== 'phase') return
    const durationMs = this.#clock.nowMs() - history.phaseBeganMs
    const ended = { ...running, outcome, durationMs }
    history.entries[index] = ended
    this.#keep(history, ended)
    for (const listener of this.#listeners) listener(running.phase, durationMs, outcome)
  }

  /** Calls the listener with each phase that ends. */
  onPhaseEnd(listener: (phase: Phase, durationMs: number, outcome: 'done' | 'failed') => void): void {
    this.#listeners.push(listener)
  }

  /** Records a change of the table. */
  observe(change: WorkspaceChange): void {
    if (change.type === 'deleted') {
      this.#histories.delete(nameKey(change.name))
      this.#file?.remove(change.name)
      return
    }
    const { name, state, createdAt } = change.workspace
    const history = this.#historyOf(name)
    if (history.identity === undefined) {
      history.identity = { name, createdAt }
      history.entries.unshift(...(this.#file?.entriesOf(history.identity) ?? []))
    }
    if (isDeepStrictEqual(history.state, state)) return
    if (history.state === undefined && isUnchanged(state, history)) {
      history.state = state
      return
    }
    const reason = reasonFor(state, history)
    this.#add(history, { is: 'state', at: this.#now(), status: state.is, reason })
    history.state = state
    history.reason = undefined
  }

  /** Explains a state; undefined while the workspace is running. */
  explain({ name, state }: Workspace): Explanation | undefined {
    if (state.is === 'running') return undefined
    const entries = this.of(name)
    const index = entries.findLastIndex((entry) => entry.is === 'state' && entry.status === state.is)
    const current = entries[index]
    const reason = current?.is === 'state' ? current.reason : UNKNOWN
    return { reason, before: entries[index - 1], remedy: remedyFor(name, state) }
  }

  #historyOf(name: string): History {
    const known = this.#histories.get(nameKey(name))
    if (known !== undefined) return known
    const history: History = {
      entries: [],
      identity: undefined,
      state: undefined,
      reason: undefined,
      phaseBeganMs: 0,
    }
    this.#histories.set(nameKey(name), history)
    return history
  }

  #add(history: History, entry: TimelineEntry): void {
    history.entries.push(entry)
    this.#keep(history, entry)
    if (history.entries.length > MAX_ENTRIES) history.entries.shift()
  }

  #keep({ identity }: History, entry: TimelineEntry): void {
    if (identity !== undefined) this.#file?.add(identity, entry)
  }

  #now(): Date {
    return new Date(this.#clock.wallMs())
  }
}

const UNKNOWN = 'it was in this state when the server started'

/** Whether the state is the last one that an earlier server recorded. */
function isUnchanged(state: WorkspaceState, { entries }: History): boolean {
  const last = lastState(entries)
  if (last?.status !== state.is) return false
  return state.is !== 'error' || last.reason.endsWith(state.message.slice(0, MAX_TEXT_LENGTH))
}

function lastState(entries: readonly TimelineEntry[]) {
  return entries.findLast((entry) => entry.is === 'state')
}

function reasonFor(state: WorkspaceState, { state: before, reason, entries }: History): string {
  // The backend's message names the cause; what was requested is context.
  if (state.is === 'error')
    return (reason === undefined ? state.message : `${reason}: ${state.message}`).slice(0, MAX_TEXT_LENGTH)
  if (reason !== undefined) return reason.slice(0, MAX_TEXT_LENGTH)
  if (before === undefined)
    return lastState(entries) === undefined ? UNKNOWN : 'it changed while the server did not run'
  if (state.is === 'running')
    return before.is === 'starting' ? 'it is ready' : 'somebody started it without this server'
  return state.is === 'stopped'
    ? 'its main process exited, or somebody stopped it without this server'
    : 'it is being started'
}

function remedyFor(name: string, state: WorkspaceState): string {
  if (state.is === 'starting') return `wait until it is running; "workspace events ${name}" shows the phase`
  const start = `start it with "workspace start ${name}"`
  if (state.is === 'suspended')
    return `${start}, which continues its programs; "workspace stop ${name}" discards its memory`
  return state.is === 'error'
    ? `see "workspace logs ${name}", and ${start}; if that fails, delete it with "workspace rm ${name}"`
    : start
}
