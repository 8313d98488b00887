import type { Input } from '../../../../lib/cli/terminal-input.ts'
import type { WireLogEntry } from '../../../api/log.ts'
import type { WireSummary } from '../../../api/process.ts'
import type { WireRequest } from '../../../api/request.ts'
import type { WireWhy } from '../../../api/why.ts'
import { append, emptyBuffer } from './state/lines.ts'
import { reduceInput } from './reduce-input.ts'
import {
  layoutOf,
  MAX_REQUESTS,
  missingText,
  selectedProcess,
  sorted,
  type State,
  type Step,
  type Usage,
} from './state/state.ts'

/** Something that happened. */
export type Event =
  | { readonly is: 'input'; readonly input: Input }
  | { readonly is: 'resized'; readonly columns: number; readonly rows: number }
  | {
      readonly is: 'polled'
      readonly address: string
      readonly processes: readonly WireSummary[]
      readonly usage: readonly Usage[]
      readonly nowMs: number
    }
  | { readonly is: 'lost'; readonly reason: string }
  /** Stored lines, which replace those shown. */
  | { readonly is: 'stored'; readonly entries: readonly WireLogEntry[] }
  | { readonly is: 'printed'; readonly entries: readonly WireLogEntry[] }
  | { readonly is: 'missed'; readonly lines: number }
  | { readonly is: 'explained'; readonly why: WireWhy }
  /** Stored requests, newest first, which replace those shown; a note explains why there are none. */
  | { readonly is: 'requests'; readonly requests: readonly WireRequest[]; readonly note: string }
  | { readonly is: 'requested'; readonly request: WireRequest }
  | {
      readonly is: 'opened'
      readonly request: WireRequest
      readonly entries: readonly WireLogEntry[]
    }
  | { readonly is: 'reported'; readonly message: string }

/** Returns the state after an event. */
export function reduce(state: State, event: Event): Step {
  const step = event.is === 'input' ? reduceInput(state, event.input) : { state: reduceData(state, event) }
  return { ...step, state: settled(state, step.state) }
}

function reduceData(state: State, event: Exclude<Event, { readonly is: 'input' }>): State {
  switch (event.is) {
    case 'resized':
      return { ...state, columns: event.columns, rows: event.rows }
    case 'polled': {
      const { processes, usage, nowMs, address } = event
      const usageByName = new Map(usage.map((each) => [each.name, each]))
      const polled = sorted({ ...state, lost: undefined, address, nowMs, processes, usage: usageByName })
      const isMissing = selectedProcess(state) !== undefined && selectedProcess(polled) === undefined
      return isMissing ? { ...polled, message: missingText(state.selected) } : polled
    }
    case 'lost':
      return { ...state, lost: event.reason }
    case 'stored': {
      const buffer = append(emptyBuffer(state.buffer.filter), event.entries)
      return { ...state, buffer, isLoaded: true, missed: 0, anchor: undefined, hit: undefined }
    }
    case 'printed':
      return { ...state, buffer: append(state.buffer, event.entries) }
    case 'missed':
      return { ...state, missed: state.missed + event.lines }
    case 'explained':
      // Another process may have been selected meanwhile.
      return event.why.name === state.selected ? { ...state, why: event.why } : state
    case 'requests':
      return { ...state, requests: event.requests.slice(0, MAX_REQUESTS), requestsNote: event.note }
    case 'requested':
      return { ...state, requests: [event.request, ...state.requests].slice(0, MAX_REQUESTS) }
    case 'opened': {
      if (state.opened?.request.id !== event.request.id) return state
      const { lines } = append(emptyBuffer(), event.entries)
      return { ...state, opened: { ...state.opened, lines } }
    }
    case 'reported':
      break
  }
  return { ...state, message: event.message }
}

/**
 * Keeps the selection in view, and forgets data of the process that was selected before. Only the user selects another
 * process than the first: a key that was on its way when the selected process disappeared must not act on its neighbor.
 */
function settled(before: State, state: State): State {
  const selected = state.selected === '' ? (state.processes[0]?.name ?? '') : state.selected
  const isOther = selected !== before.selected
  const isOtherSource = state.isAll !== before.isAll || (isOther && !state.isAll)
  const rows = layoutOf(state).tableRows
  const index = state.processes.findIndex(({ name }) => name === selected)
  const last = Math.max(0, state.processes.length - rows)
  const inView = Math.min(state.firstRow, index < 0 ? last : Math.min(index, last))
  return {
    ...state,
    selected,
    // A full pane has no table; the rows in view are kept for its return.
    firstRow: rows === 0 ? state.firstRow : Math.max(index - rows + 1, inView),
    ...(isOther && { why: undefined, whyScrolled: 0 }),
    ...(isOtherSource && {
      buffer: emptyBuffer(state.buffer.filter),
      isLoaded: false,
      missed: 0,
      anchor: undefined,
      hit: undefined,
      request: undefined,
      opened: undefined,
    }),
  }
}
