import type { Input } from '../../../../lib/cli/terminal-input.ts'
import { charactersOf, safeText } from './text/cells.ts'
import { helpRows } from './view/help.ts'
import { type Command, commandOf } from './state/keys.ts'
import { filtered } from './state/lines.ts'
import { firstRequest, openedRows } from './view/requests-pane.ts'
import { atNextHit, linesInView, scrolledBy, scrolledTo } from './state/scroll.ts'
import {
  type Action,
  enteredText,
  layoutOf,
  missingText,
  type Mode,
  selectedProcess,
  shownRequests,
  sorted,
  SORTS,
  type State,
  type Step,
  TABLE_TOP,
  TABS,
  type TextField,
} from './state/state.ts'
import { tabAt } from './view/tabs.ts'
import { whyRows } from './view/why-pane.ts'

const WHEEL_LINES = 3
/** Longest search or filter. */
const MAX_TEXT = 200

/** Returns the state after input of the terminal. */
export function reduceInput(state: State, input: Input): Step {
  const { mode } = state
  if (input.is === 'wheel') return { state: wheeled(state, input) }
  if (input.is === 'click') return mode.is === 'commands' ? clicked(state, input) : { state }
  if (mode.is === 'typing') return { state: typed(state, mode, input) }
  // Pasted text is never a command.
  if (input.is === 'paste') return { state }
  if (mode.is === 'confirming') return confirmed(state, mode, input.key)
  const command = commandOf(input.key)
  if (command === undefined) return { state }
  if (command === 'quit') return { state, effect: { is: 'quit' } }
  if (mode.is === 'help') return { state: helped(state, mode.scrolled, command) }
  return commanded({ ...state, message: '' }, command)
}

function commanded(state: State, command: Exclude<Command, 'quit'>): Step {
  switch (command) {
    case 'up':
    case 'down': {
      const step = command === 'up' ? -1 : 1
      return { state: state.isFull ? scrolled(state, step) : selectedBy(state, step) }
    }
    case 'page-up':
      return { state: scrolled(state, -pageOf(state)) }
    case 'page-down':
      return { state: scrolled(state, pageOf(state)) }
    case 'home':
      return { state: scrolled(state, Number.NEGATIVE_INFINITY) }
    case 'end':
      return { state: scrolled(state, Number.POSITIVE_INFINITY) }
    case 'next-tab':
    case 'previous-tab': {
      const at = TABS.indexOf(state.tab) + (command === 'next-tab' ? 1 : TABS.length - 1)
      return { state: { ...state, tab: TABS[at % TABS.length] ?? 'logs', opened: undefined } }
    }
    case 'logs':
    case 'why':
    case 'requests':
      return { state: { ...state, tab: command, opened: undefined } }
    case 'enter':
      return state.isFull && state.tab === 'requests' && state.opened === undefined
        ? opening(state)
        : { state: { ...state, isFull: true } }
    case 'back':
      return { state: wentBack(state) }
    case 'search':
      return { state: typing(state, 'search') }
    case 'filter':
      return { state: typing(state, state.tab === 'requests' ? 'request-filter' : 'filter') }
    case 'older-hit':
    case 'newer-hit':
      return { state: atNextHit({ ...state, tab: 'logs' }, command === 'older-hit' ? 'older' : 'newer') }
    case 'all':
      return { state: { ...state, isAll: !state.isAll } }
    case 'wrap':
      return { state: { ...state, isWrapped: !state.isWrapped } }
    case 'times':
      return { state: { ...state, hasTimes: !state.hasTimes } }
    case 'sort': {
      const sort = SORTS[(SORTS.indexOf(state.sort) + 1) % SORTS.length] ?? 'name'
      return { state: { ...sorted({ ...state, sort }), message: `ordered by ${sort}` } }
    }
    case 'start':
    case 'stop':
    case 'restart':
      return acting(state, command)
    case 'mouse': {
      const message = state.hasMouse
        ? 'the mouse selects text; m uses it here again'
        : 'the mouse is used here'
      return { state: { ...state, hasMouse: !state.hasMouse, message } }
    }
    case 'help':
      break
  }
  return { state: { ...state, mode: { is: 'help', scrolled: 0 } } }
}

function selectedBy(state: State, step: number): State {
  const { processes, selected, firstRow } = state
  const at = processes.findIndex(({ name }) => name === selected)
  const next = at < 0 ? firstRow : Math.min(processes.length - 1, Math.max(0, at + step))
  return { ...state, selected: processes[next]?.name ?? selected }
}

/** Returns the number of lines of a page, one of which stays in view. */
function pageOf(state: State): number {
  const { paneRows } = layoutOf(state)
  return Math.max(1, (state.tab === 'logs' ? linesInView(state).length : paneRows) - 1)
}

/** Scrolls the pane by lines, or selects another request. */
function scrolled(state: State, step: number): State {
  const { paneRows, paneColumns } = layoutOf(state)
  const limited = (at: number, rows: number): number =>
    Math.min(Math.max(0, at + step), Math.max(0, rows - paneRows))
  if (state.tab === 'why')
    return { ...state, whyScrolled: limited(state.whyScrolled, whyRows(state, paneColumns).length) }
  const { opened } = state
  if (opened !== undefined) {
    const rows = openedRows(opened, paneColumns).length
    return { ...state, opened: { ...opened, scrolled: limited(opened.scrolled, rows) } }
  }
  if (state.tab === 'logs')
    return Number.isFinite(step)
      ? scrolledBy(state, step)
      : scrolledTo(state, step < 0 ? 0 : Number.MAX_SAFE_INTEGER)
  const requests = shownRequests(state)
  const at = Math.max(
    0,
    requests.findIndex(({ id }) => id === state.request),
  )
  const next = Math.min(requests.length - 1, Math.max(0, at + step))
  // The newest stays selected when newer ones arrive.
  return { ...state, request: next <= 0 ? undefined : requests[next]?.id }
}

function opening(state: State): Step {
  const requests = shownRequests(state)
  const request = requests.find(({ id }) => id === state.request) ?? requests[0]
  if (request === undefined) return { state: { ...state, message: 'no request is selected' } }
  return {
    state: { ...state, request: request.id, opened: { request, lines: undefined, scrolled: 0 } },
    effect: { is: 'open', id: request.id },
  }
}

function wentBack(state: State): State {
  if (state.opened !== undefined) return { ...state, opened: undefined }
  if (state.tab === 'requests' && state.requestFilter !== '') return { ...state, requestFilter: '' }
  if (state.search !== '') return { ...state, search: '', hit: undefined }
  if (state.buffer.filter !== '') return { ...state, buffer: filtered(state.buffer, '') }
  return { ...state, isFull: false }
}

function acting(state: State, action: Action): Step {
  const process = selectedProcess(state)
  if (process === undefined) return { state: { ...state, message: missingText(state.selected) } }
  const { name, tty, pid } = process
  // The session on a terminal exists only in its process; output of other processes stays.
  if (action !== 'start' && tty && pid !== 0)
    return { state: { ...state, mode: { is: 'confirming', action, name } } }
  return { state, effect: { is: 'act', action, name } }
}

function confirmed(
  state: State,
  { action, name }: Extract<Mode, { readonly is: 'confirming' }>,
  key: string,
): Step {
  const next: State = { ...state, mode: { is: 'commands' } }
  if (key === 'ctrl-c') return { state: next, effect: { is: 'quit' } }
  return key === 'y' ? { state: next, effect: { is: 'act', action, name } } : { state: next }
}

function typing(state: State, field: TextField): State {
  const mode: Mode = { is: 'typing', field, before: enteredText(state, field) }
  const tab = field === 'request-filter' ? 'requests' : 'logs'
  const shown: State = { ...state, tab, opened: undefined, mode }
  return withText(shown, field, '')
}

function withText(state: State, field: TextField, text: string): State {
  if (field === 'request-filter') return { ...state, requestFilter: text, request: undefined }
  return field === 'search'
    ? { ...state, search: text, hit: undefined }
    : { ...state, buffer: filtered(state.buffer, text), hit: undefined }
}

function typed(
  state: State,
  { field, before }: Extract<Mode, { readonly is: 'typing' }>,
  input: Extract<Input, { readonly is: 'key' | 'paste' }>,
): State {
  const done: State = { ...state, mode: { is: 'commands' } }
  const text = enteredText(state, field)
  if (input.is === 'paste') return withText(state, field, added(text, input.text.split(/[\r\n]/, 1)[0] ?? ''))
  const { key } = input
  if (key === 'enter') return field === 'search' && text !== '' ? atNextHit(done, 'older') : done
  if (key === 'escape' || key === 'ctrl-c') return withText(done, field, before)
  if (key === 'ctrl-u') return withText(state, field, '')
  if (key === 'backspace') return withText(state, field, charactersOf(text).slice(0, -1).join(''))
  // Keys with a longer name type nothing.
  const isText = charactersOf(key).length === 1
  return isText ? withText(state, field, added(text, key)) : state
}

function added(text: string, more: string): string {
  return (text + safeText(more).replaceAll('\t', ' ')).slice(0, MAX_TEXT)
}

function helped(state: State, at: number, command: Command): State {
  const rows = helpRows(state.columns).length
  const most = Math.max(0, rows - state.rows)
  const steps: Readonly<Partial<Record<Command, number>>> = {
    up: -1,
    down: 1,
    'page-up': 1 - state.rows,
    'page-down': state.rows - 1,
    home: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
  }
  const step = steps[command]
  if (step === undefined)
    return command === 'help' || command === 'back' ? { ...state, mode: { is: 'commands' } } : state
  return { ...state, mode: { is: 'help', scrolled: Math.min(most, Math.max(0, at + step)) } }
}

function wheeled(state: State, { up, row }: Extract<Input, { readonly is: 'wheel' }>): State {
  const step = up ? -1 : 1
  if (state.mode.is === 'help') return helped(state, state.mode.scrolled, up ? 'up' : 'down')
  const { tabsRow } = layoutOf(state)
  if (row < tabsRow && !state.isFull) return selectedBy(state, step)
  return scrolled(state, state.tab === 'requests' && state.opened === undefined ? step : step * WHEEL_LINES)
}

function clicked(state: State, { column, row }: Extract<Input, { readonly is: 'click' }>): Step {
  const { tableRows, tabsRow, paneTop, paneColumns } = layoutOf(state)
  if (row >= TABLE_TOP && row < TABLE_TOP + tableRows) {
    const process = state.processes[state.firstRow + row - TABLE_TOP]
    return { state: process === undefined ? state : { ...state, selected: process.name, message: '' } }
  }
  if (row === tabsRow) {
    const tab = tabAt(state, column)
    return { state: tab === undefined ? state : { ...state, tab, opened: undefined } }
  }
  if (state.tab !== 'requests' || state.opened !== undefined || column >= paneColumns) return { state }
  const requests = shownRequests(state)
  const request = requests[firstRequest(state) + row - paneTop - 1]
  if (row <= paneTop || request === undefined) return { state }
  const isSelected = request.id === (state.request ?? requests[0]?.id)
  return isSelected ? opening(state) : { state: { ...state, request: request.id } }
}
