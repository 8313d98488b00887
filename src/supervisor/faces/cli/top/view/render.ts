import { formatBytes } from '../../../../../lib/cli/bytes.ts'
import { counted } from '../../../../../lib/cli/counted.ts'
import { charactersOf, widthOf } from '../text/cells.ts'
import { helpRows } from './help.ts'
import { logRows } from './logs-pane.ts'
import { tableRows } from './process-table.ts'
import { requestRows } from './requests-pane.ts'
import { fitRow, type Row, rowWidth, span, spread, textRow } from '../text/rows.ts'
import { enteredText, layoutOf, type State, type Tab } from '../state/state.ts'
import { tabsRow } from './tabs.ts'
import { whyRows } from './why-pane.ts'

/** Hints of the last row, most important first; those that do not fit are left out. */
const HINTS = [
  '? help',
  'q quit',
  's start',
  'x stop',
  'r restart',
  'Tab next',
  '/ search',
  'f filter',
  'a all',
  'Enter full',
]

/** Renders the screen: as many rows as it has, each with exactly its columns. */
export function render(state: State): readonly Row[] {
  const { columns, rows, mode } = state
  if (columns < 1 || rows < 1) return []
  const shown =
    mode.is === 'help'
      ? helpRows(columns).slice(mode.scrolled, mode.scrolled + rows)
      : [
          summaryRow(state),
          ...(state.isFull ? [] : tableRows(state)),
          tabsRow(state),
          ...paneRows(state),
          lastRow(state),
        ]
  // A screen of a few rows shows the first ones and the keys.
  const fitting = shown.length > rows ? [...shown.slice(0, rows - 1), ...shown.slice(-1)] : shown
  return Array.from({ length: rows }, (_, at) => fitRow(fitting[at] ?? [], columns))
}

function summaryRow({ columns, processes, usage, lost, address }: State): Row {
  if (lost !== undefined) return textRow(`reconnecting: ${lost}`, columns, 'red')
  const crashed = processes.filter(({ status }) => status === 'crashed').length
  const unhealthy = processes.filter(({ health }) => health === 'unhealthy').length
  const used = [...usage.values()]
  const cpu = used.reduce((sum, { cpu_percent: percent }) => sum + percent, 0)
  const memory = used.reduce((sum, { memory_bytes: bytes }) => sum + bytes, 0)
  const counts = [
    span(counted(processes.length, 'process', 'processes')),
    ...(crashed === 0 ? [] : [span(`, ${crashed} crashed`, 'red')]),
    ...(unhealthy === 0 ? [] : [span(`, ${unhealthy} unhealthy`, 'red')]),
  ]
  const totals = [span(`  CPU ${cpu.toFixed(1)}%  memory ${formatBytes(memory)}`)]
  const hasRoom = rowWidth(counts) + rowWidth(totals) <= columns
  return spread([...counts, span(`  ${address}`, 'dim')], hasRoom ? totals : [], columns)
}

function paneRows(state: State): readonly Row[] {
  const { paneRows: count, paneColumns, sideColumns } = layoutOf(state)
  const panes: Readonly<Record<Tab, () => readonly Row[]>> = {
    logs: () => logRows(state),
    why: () => whyRows(state, paneColumns).slice(state.whyScrolled, state.whyScrolled + count),
    requests: () => requestRows(state),
  }
  const pane = panes[state.tab]()
  const side = sideColumns === 0 ? [] : whyRows(state, sideColumns - 1)
  return Array.from({ length: count }, (_, at) => {
    const row = pane[at] ?? []
    if (sideColumns === 0) return row
    return [...fitRow([...row, span('')], paneColumns), span('│', 'dim'), span(' '), ...(side[at] ?? [])]
  })
}

function lastRow(state: State): Row {
  const { columns, mode, message, isFull } = state
  if (mode.is === 'typing') {
    const text = enteredText(state, mode.field)
    const label = mode.field === 'search' ? 'search: ' : 'filter: '
    // The end of a long text is what is being typed.
    const rest = Math.max(0, columns - label.length - 1)
    return [
      span(label, 'bold'),
      span(widthOf(text) > rest ? lastOf(text, rest) : text),
      span(' ', 'inverse'),
      span(''),
    ]
  }
  if (mode.is === 'confirming')
    return textRow(
      `${mode.action} ${mode.name}? Its terminal session will be lost. y: yes, any other key: no`,
      columns,
      'yellow',
    )
  if (message !== '') return textRow(message, columns, 'inverse')
  let hints = ''
  for (const hint of isFull ? ['Esc back', ...HINTS] : HINTS) {
    const more = hints === '' ? hint : `${hints}   ${hint}`
    if (more.length > columns) break
    hints = more
  }
  return textRow(hints, columns, 'inverse')
}

function lastOf(text: string, columns: number): string {
  const characters = [...charactersOf(text)]
  while (characters.length > 0 && widthOf(characters.join('')) > columns) characters.shift()
  return characters.join('')
}
