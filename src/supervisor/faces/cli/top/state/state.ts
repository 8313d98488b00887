import type { WireSummary } from '../../../../api/process.ts'
import type { WireRequest } from '../../../../api/request.ts'
import type { WireWhy } from '../../../../api/why.ts'
import { containing, emptyBuffer, type Line, type LineBuffer } from './lines.ts'

/** Contents of the pane below the table. */
export const TABS = ['logs', 'why', 'requests'] as const
/** A tab of the pane. */
export type Tab = (typeof TABS)[number]

/** Orders of the table. */
export const SORTS = ['name', 'status', 'cpu', 'memory'] as const

/** Requests kept. */
export const MAX_REQUESTS = 500

/** CPU and memory of a process. */
export interface Usage {
  readonly name: string
  readonly cpu_percent: number
  readonly memory_bytes: number
}

/** An action on a process, named as in the API. */
export type Action = 'start' | 'stop' | 'restart'

/** A text that the user enters: to search the lines, or to show only some lines or requests. */
export type TextField = 'search' | 'filter' | 'request-filter'

/** Keyboard mode: commands, text of a search or filter, or a confirmation. */
export type Mode =
  | { readonly is: 'commands' }
  | { readonly is: 'typing'; readonly field: TextField; readonly before: string }
  | { readonly is: 'confirming'; readonly action: Action; readonly name: string }
  | { readonly is: 'help'; readonly scrolled: number }

/** A request with the lines that its process printed meanwhile. */
export interface OpenedRequest {
  readonly request: WireRequest
  /** Undefined until they are loaded. */
  readonly lines: readonly Line[] | undefined
  readonly scrolled: number
}

/** State of the screen. */
export interface State {
  readonly columns: number
  readonly rows: number
  readonly nowMs: number
  readonly address: string
  /** Reason why the supervisor does not respond; undefined while it does. */
  readonly lost: string | undefined
  /** In the order of the table. */
  readonly processes: readonly WireSummary[]
  readonly usage: ReadonlyMap<string, Usage>
  readonly sort: (typeof SORTS)[number]
  /** Name of the selected process. */
  readonly selected: string
  /** Index of the first process in view. */
  readonly firstRow: number
  readonly tab: Tab
  /** Whether the pane fills the screen. */
  readonly isFull: boolean
  /** Whether lines and requests of all processes are shown. */
  readonly isAll: boolean
  readonly isWrapped: boolean
  readonly hasTimes: boolean
  readonly hasMouse: boolean
  readonly buffer: LineBuffer
  /** Whether the stored lines have been loaded. */
  readonly isLoaded: boolean
  /** Lines printed too fast to be read, since the buffer was loaded. */
  readonly missed: number
  /** Key of the last line in view; undefined follows new lines. */
  readonly anchor: number | undefined
  readonly search: string
  /** Key of the line of the current hit. */
  readonly hit: number | undefined
  readonly why: WireWhy | undefined
  readonly whyScrolled: number
  /** Newest first. */
  readonly requests: readonly WireRequest[]
  /** Reason why no requests are shown. */
  readonly requestsNote: string
  /** Text that shown requests contain. */
  readonly requestFilter: string
  /** Id of the selected request; undefined selects the newest. */
  readonly request: string | undefined
  readonly opened: OpenedRequest | undefined
  readonly mode: Mode
  readonly message: string
}

/** Returns the state before anything is known. */
export function initialState(columns: number, rows: number, address: string): State {
  return {
    columns,
    rows,
    nowMs: 0,
    address,
    lost: undefined,
    processes: [],
    usage: new Map(),
    sort: 'name',
    selected: '',
    firstRow: 0,
    tab: 'logs',
    isFull: false,
    isAll: false,
    isWrapped: false,
    hasTimes: false,
    hasMouse: true,
    buffer: emptyBuffer(),
    isLoaded: false,
    missed: 0,
    anchor: undefined,
    search: '',
    hit: undefined,
    why: undefined,
    whyScrolled: 0,
    requests: [],
    requestsNote: '',
    requestFilter: '',
    request: undefined,
    opened: undefined,
    mode: { is: 'commands' },
    message: '',
  }
}

/** Returns the selected process. */
export function selectedProcess({ processes, selected }: State): WireSummary | undefined {
  return processes.find(({ name }) => name === selected)
}

/** Returns why no process is selected. @param selected name of the process that was */
export function missingText(selected: string): string {
  return selected === '' ? 'no process is selected' : `process "${selected}" no longer exists; select another`
}

/** Returns the requests of the selected process, or of all, that contain the filter, newest first. */
export function shownRequests({ requests, isAll, selected, requestFilter }: State): readonly WireRequest[] {
  const isWanted = containing(requestFilter)
  return requests.filter(
    (request) => (isAll || request.process === selected) && isWanted(requestText(request)),
  )
}

/** Returns what a filter of requests looks at. */
function requestText({ status_code: status, method, subdomain, url }: WireRequest): string {
  return `${status} ${method} ${subdomain} ${url}`
}

/** Returns a text that the user enters. */
export function enteredText({ search, buffer, requestFilter }: State, field: TextField): string {
  if (field === 'request-filter') return requestFilter
  return field === 'search' ? search : buffer.filter
}

/** Something that the terminal or the supervisor must do. */
export type Effect =
  | { readonly is: 'quit' }
  | { readonly is: 'act'; readonly action: Action; readonly name: string }
  | { readonly is: 'open'; readonly id: string }

/** A state, and what must be done. */
export interface Step {
  readonly state: State
  readonly effect?: Effect
}

/** Problems first, then what runs. */
const STATUS_ORDER = ['crashed', 'starting', 'stopping', 'running', 'stopped']

function byName(a: WireSummary, b: WireSummary): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0
}

/** Puts the processes in the order of the table. */
export function sorted(state: State): State {
  const { usage, sort } = state
  const rank: Readonly<Record<State['sort'], (process: WireSummary) => number>> = {
    name: () => 0,
    status: ({ status }) => STATUS_ORDER.indexOf(status),
    cpu: ({ name }) => -(usage.get(name)?.cpu_percent ?? -1),
    memory: ({ name }) => -(usage.get(name)?.memory_bytes ?? -1),
  }
  const rankOf = rank[sort]
  return { ...state, processes: state.processes.toSorted((a, b) => rankOf(a) - rankOf(b) || byName(a, b)) }
}

/** Parts of the screen, in rows and columns from 0. */
export interface Layout {
  /** Rows of processes; 0 if the pane fills the screen. */
  readonly tableRows: number
  readonly tabsRow: number
  readonly paneTop: number
  readonly paneRows: number
  readonly paneColumns: number
  /** Columns of the explanation beside the pane; 0 without. */
  readonly sideColumns: number
}

/** Columns from which the explanation is shown beside the pane. */
const WIDE = 160
const SIDE_SHARE = 0.4
const TABLE_SHARE = 0.4
/** Rows above the table: the summary and the headings. */
export const TABLE_TOP = 2

/** Returns the parts of the screen. */
export function layoutOf({ columns, rows, processes, isFull, tab }: State): Layout {
  // The summary, the tabs and the keys.
  const fixed = isFull ? 3 : 4
  const most = Math.max(2, Math.floor((rows - fixed) * TABLE_SHARE))
  const tableRows = isFull ? 0 : Math.min(Math.max(1, processes.length), most)
  const tabsRow = isFull ? 1 : TABLE_TOP + tableRows
  const paneTop = tabsRow + 1
  const sideColumns = columns >= WIDE && tab !== 'why' ? Math.floor(columns * SIDE_SHARE) : 0
  return {
    tableRows,
    tabsRow,
    paneTop,
    paneRows: Math.max(0, rows - paneTop - 1),
    // One column separates the two.
    paneColumns: sideColumns === 0 ? columns : columns - sideColumns - 1,
    sideColumns,
  }
}
