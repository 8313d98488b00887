import { wrap } from '../text/cells.ts'
import { containing, indexOfKey, type Line } from './lines.ts'
import { layoutOf, type State } from './state.ts'

/** Columns of the mark of standard output or error, with a space. */
const MARK = 2
const TIME = 13
/** Longest name in front of a line. */
const MAX_NAME = 16

/** Columns of the parts of a line in the pane. */
export interface LineColumns {
  readonly time: number
  readonly name: number
  readonly text: number
}

/** Returns the columns of the parts of a line; the name is shown only among lines of all processes. */
export function lineColumns(state: State): LineColumns {
  const { paneColumns } = layoutOf(state)
  const time = state.hasTimes ? TIME : 0
  const longest = Math.max(0, ...state.processes.map(({ name }) => name.length))
  const name = state.isAll ? Math.min(MAX_NAME, longest) + 1 : 0
  return { time, name, text: Math.max(1, paneColumns - time - name - MARK) }
}

/** Returns the rows of a line's text; more than a pane of a single line are left out. */
export function rowsOfLine({ text }: Line, columns: number, state: State): readonly string[] {
  return state.isWrapped ? wrap(text, columns, Math.max(1, layoutOf(state).paneRows)) : [text]
}

/** Returns the index of the last line in view; -1 without lines. */
export function lastInView(state: State): number {
  const { anchor, buffer } = state
  const last = buffer.matching.length - 1
  if (anchor === undefined) return last
  return Math.min(last, Math.max(indexOfKey(buffer.matching, anchor), firstBottom(state)))
}

/** Returns the lines in view, oldest first. */
export function linesInView(state: State): readonly Line[] {
  const { matching } = state.buffer
  const last = lastInView(state)
  const { text } = lineColumns(state)
  let rest = layoutOf(state).paneRows
  let first = last + 1
  while (first > 0) {
    const line = matching[first - 1]
    rest -= line === undefined ? 0 : rowsOfLine(line, text, state).length
    // A single line that does not fit is cut at the end of the pane.
    if (rest < 0 && first <= last) break
    first--
    if (rest <= 0) break
  }
  return matching.slice(first, last + 1)
}

/** Returns the index of the last line in view when the oldest line is the first. */
function firstBottom(state: State): number {
  const { matching } = state.buffer
  const { text } = lineColumns(state)
  let rest = layoutOf(state).paneRows
  let next = 0
  for (; next < matching.length; next++) {
    const line = matching[next]
    rest -= line === undefined ? 0 : rowsOfLine(line, text, state).length
    if (rest < 0) break
  }
  return Math.max(0, next - 1)
}

/** Scrolls so that the line with this index is the last in view; the newest line follows new ones. */
export function scrolledTo(state: State, index: number): State {
  const { matching } = state.buffer
  const wanted = Math.max(index, firstBottom(state))
  return { ...state, anchor: wanted >= matching.length - 1 ? undefined : matching[wanted]?.key }
}

/** Scrolls the lines by a number of lines; negative goes to older ones. */
export function scrolledBy(state: State, lines: number): State {
  return scrolledTo(state, lastInView(state) + lines)
}

/** Goes to the next hit of the search among older or newer lines, from the current hit or the last line in view. */
export function atNextHit(state: State, direction: 'older' | 'newer'): State {
  const { search, hit, buffer } = state
  if (search === '') return { ...state, message: 'press / to search' }
  const isHit = containing(search)
  const { matching } = buffer
  const here = hit === undefined ? undefined : indexOfKey(matching, hit)
  const found =
    direction === 'older'
      ? matching.findLastIndex(({ text }, at) => at < (here ?? lastInView(state) + 1) && isHit(text))
      : matching.findIndex(({ text }, at) => at > (here ?? lastInView(state)) && isHit(text))
  const line = matching[found]
  if (line === undefined)
    return { ...state, message: `no ${hit === undefined ? '' : `${direction} `}line contains "${search}"` }
  const middle = found + Math.floor(layoutOf(state).paneRows / 2)
  const isInView = linesInView(state).some(({ key }) => key === line.key)
  const shown = isInView ? scrolledTo(state, lastInView(state)) : scrolledTo(state, middle)
  return { ...shown, hit: line.key, message: '' }
}
