import { counted } from '../../../../../lib/cli/counted.ts'
import { cut, widthOf } from '../text/cells.ts'
import { containing } from '../state/lines.ts'
import { type Row, type Span, span, spread } from '../text/rows.ts'
import { lastInView } from '../state/scroll.ts'
import { selectedProcess, type State, type Tab, TABS } from '../state/state.ts'

const LONGEST_NAME = 20

/** Returns the row of tabs, with the state of the pane at its end. */
export function tabsRow(state: State): Row {
  const name = titleOf(state)
  const tabs = TABS.flatMap((tab): readonly Span[] => [
    span(labelOf(tab), tab === state.tab ? 'inverse' : 'plain'),
    span(' '),
  ])
  const note = noteOf(state)
  return spread([span(name, 'bold'), ...tabs], note === '' ? [] : [span(` ${note}`, 'dim')], state.columns)
}

/** Returns the tab at a column. */
export function tabAt(state: State, column: number): Tab | undefined {
  let from = widthOf(titleOf(state))
  return TABS.find((tab) => {
    const isHere = column >= from && column < from + labelOf(tab).length
    from += labelOf(tab).length + 1
    return isHere
  })
}

function labelOf(tab: Tab): string {
  return ` ${TABS.indexOf(tab) + 1} ${tab} `
}

function titleOf(state: State): string {
  const { isAll, isFull, selected, tab } = state
  if (isAll && tab !== 'why') return 'all processes '
  const status = isFull ? ` ${selectedProcess(state)?.status ?? ''}` : ''
  return `${cut(selected, LONGEST_NAME)}${status} `
}

function noteOf(state: State): string {
  return [
    state.tab === 'logs' ? logsNote(state) : requestsNote(state),
    state.mode.is === 'typing' ? '' : searchNote(state),
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function requestsNote({ tab, opened, requestFilter }: State): string {
  return tab === 'requests' && opened === undefined ? filterNote(requestFilter) : ''
}

function filterNote(filter: string): string {
  return filter === '' ? '' : `filter "${filter}"`
}

function logsNote(state: State): string {
  const { buffer, missed, isLoaded, anchor } = state
  if (!isLoaded) return 'loading'
  const newer = anchor === undefined ? 0 : buffer.matching.length - 1 - lastInView(state)
  return [
    newer === 0 ? 'following' : counted(newer, 'newer line'),
    missed === 0 ? '' : `${counted(missed, 'line')} missed`,
    filterNote(buffer.filter),
  ]
    .filter((part) => part !== '')
    .join(', ')
}

function searchNote({ tab, search, hit, buffer }: State): string {
  if (search === '' || tab !== 'logs') return ''
  const hits = buffer.matching.filter(({ text }) => containing(search)(text))
  const at = hits.findIndex(({ key }) => key === hit)
  return at < 0 ? `search "${search}"` : `hit ${at + 1} of ${hits.length}`
}
