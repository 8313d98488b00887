import { formatBytes } from '../../../../../lib/cli/bytes.ts'
import type { WireSummary } from '../../../../api/process.ts'
import { formatUptime } from '../../../../api/uptime.ts'
import { fit, safeText, widthOf } from '../text/cells.ts'
import { type Row, type Span, span, type Style, textRow } from '../text/rows.ts'
import { layoutOf, type State, type Usage } from '../state/state.ts'

interface Column {
  readonly title: string
  readonly align: 'left' | 'right'
  /** Columns are left out in this order when the screen is too narrow. */
  readonly keep: number
  readonly sort?: State['sort']
  readonly text: (process: WireSummary, usage: Usage | undefined) => string
  readonly style?: (process: WireSummary) => Style
}

const STATUS_STYLES: Readonly<Record<WireSummary['status'], Style>> = {
  running: 'green',
  starting: 'yellow',
  stopping: 'yellow',
  crashed: 'red',
  stopped: 'dim',
}

const COLUMNS: readonly Column[] = [
  { title: 'NAME', align: 'left', keep: 9, sort: 'name', text: ({ name }) => name },
  {
    title: 'STATUS',
    align: 'left',
    keep: 8,
    sort: 'status',
    text: ({ status }) => status,
    style: ({ status }) => STATUS_STYLES[status],
  },
  {
    title: 'HEALTH',
    align: 'left',
    keep: 4,
    text: ({ health }) => (health === 'unknown' ? '-' : health),
    style: ({ health }) => (health === 'unhealthy' ? 'red' : 'plain'),
  },
  { title: 'RESTARTS', align: 'right', keep: 2, text: ({ restarts }) => String(restarts) },
  { title: 'PID', align: 'right', keep: 1, text: ({ pid }) => (pid === 0 ? '-' : String(pid)) },
  {
    title: 'CPU',
    align: 'right',
    keep: 6,
    sort: 'cpu',
    text: (_process, usage) => (usage === undefined ? '-' : `${usage.cpu_percent.toFixed(1)}%`),
  },
  {
    title: 'MEMORY',
    align: 'right',
    keep: 5,
    sort: 'memory',
    text: (_process, usage) => (usage === undefined ? '-' : formatBytes(usage.memory_bytes)),
  },
  {
    title: 'UPTIME',
    align: 'right',
    keep: 3,
    text: ({ pid, uptime_seconds: uptime }) => (pid === 0 ? '-' : formatUptime(uptime)),
  },
  { title: 'WHY', align: 'left', keep: 7, text: ({ reason }) => reason },
]

const GAP = 2
/** Columns for the reason before other columns are shown. */
const REASON_COLUMNS = 24
const LONGEST_NAME = 24
/** Mark of the column that determines the order. */
const ORDER = '*'

/** Returns the headings and the rows of processes in view. */
export function tableRows(state: State): readonly Row[] {
  const { columns, processes, firstRow, selected, usage, sort } = state
  const { tableRows: count } = layoutOf(state)
  const shown = processes.slice(firstRow, firstRow + count)
  const titles = COLUMNS.map((column) => (column.sort === sort ? `${column.title}${ORDER}` : column.title))
  const cells = processes.map((process) =>
    COLUMNS.map(({ text }) => safeText(text(process, usage.get(process.name))).replaceAll('\t', ' ')),
  )
  const natural = COLUMNS.map(({ title }, at) => {
    const width = Math.max(widthOf(titles[at] ?? ''), ...cells.map((row) => widthOf(row[at] ?? '')))
    return title === 'NAME' ? Math.min(LONGEST_NAME, width) : width
  })
  const widths = fittingWidths(natural, columns)
  const rowOf = (texts: readonly string[], style: (column: Column) => Style): readonly Span[] =>
    COLUMNS.flatMap((column, at) => {
      const width = widths[at] ?? 0
      if (width === 0) return []
      const gap = at === 0 ? [] : [span(' '.repeat(GAP))]
      return [...gap, span(fit(texts[at] ?? '', width, column.align), style(column))]
    })
  const rows = shown.map((process, at) => {
    const texts = cells[firstRow + at] ?? []
    if (process.name !== selected) return rowOf(texts, (column) => column.style?.(process) ?? 'plain')
    return textRow(
      rowOf(texts, () => 'plain')
        .map(({ text }) => text)
        .join(''),
      columns,
      'inverse',
    )
  })
  return [rowOf(titles, () => 'bold'), ...rows]
}

/** Returns the widths of the columns that fit, 0 for the others; the last one gets the rest. */
function fittingWidths(natural: readonly number[], columns: number): readonly number[] {
  const last = natural.length - 1
  const widths = natural.map((width, at) => (at === last ? Math.min(width, REASON_COLUMNS) : width))
  const used = (): number => widths.reduce((sum, width) => sum + (width === 0 ? 0 : width + GAP), -GAP)
  const byKeep = COLUMNS.map(({ keep }, at) => ({ keep, at })).toSorted((a, b) => a.keep - b.keep)
  for (const { at } of byKeep.slice(0, -1)) {
    if (used() <= columns) break
    // What remains of a narrow screen is enough for the start of a reason.
    const missing = used() - columns
    if (at === last && (widths[at] ?? 0) - missing >= GAP) widths[at] = (widths[at] ?? 0) - missing
    else widths[at] = 0
  }
  if ((widths[last] ?? 0) > 0) widths[last] = (widths[last] ?? 0) + Math.max(0, columns - used())
  return widths
}
