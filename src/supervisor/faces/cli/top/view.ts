import { formatTable } from '../../../../lib/cli/table.ts'
import type { WireLogEntry } from '../../../api/log.ts'
import type { WireSummary } from '../../../api/process.ts'
import { formatUptime } from '../../../api/uptime.ts'
import { shownLine } from '../paint.ts'

/** State of the screen. */
export interface View {
  readonly processes: readonly WireSummary[]
  readonly usage: ReadonlyMap<string, { readonly cpu_percent: number; readonly memory_bytes: number }>
  readonly selected: number
  /** Lines of the selected process, oldest first. */
  readonly lines: readonly WireLogEntry[]
  /** Text filter of the lines; ends with a cursor while it is being typed. */
  readonly filter: string
  readonly isTyping: boolean
  readonly message: string
}

const INVERSE = '\u001b[7m'
const BOLD = '\u001b[1m'
const PLAIN = '\u001b[0m'
const KEYS = 'up/down select   s start   x stop   r restart   / filter   q quit'

/** Renders the screen as lines of at most `columns` columns. */
export function drawView(view: View, columns: number, rows: number): readonly string[] {
  const tableRows = Math.max(3, Math.min(view.processes.length + 1, Math.floor(rows / 2)))
  const table = formatTable(
    ['NAME', 'STATUS', 'PID', 'UPTIME', 'RESTARTS', 'HEALTH', 'CPU', 'MEMORY'],
    view.processes.map(({ name, status, pid, uptime_seconds: uptime, restarts, health }) => {
      const used = view.usage.get(name)
      return [
        name,
        status,
        pid === 0 ? '-' : String(pid),
        pid === 0 ? '-' : formatUptime(uptime),
        String(restarts),
        health,
        used === undefined ? '-' : `${used.cpu_percent.toFixed(1)}%`,
        used === undefined ? '-' : `${(used.memory_bytes / 2 ** 20).toFixed(1)} MiB`,
      ]
    }),
  ).split('\n')
  const [head = '', ...body] = table
  // Keeps the selected process in view.
  const first = Math.max(0, Math.min(view.selected - (tableRows - 2), body.length - (tableRows - 1)))
  const shown = body.slice(first, first + tableRows - 1).map((line, at) => {
    const fitted = fit(line, columns)
    return first + at === view.selected ? `${INVERSE}${fitted.padEnd(columns)}${PLAIN}` : fitted
  })
  const name = view.processes[view.selected]?.name ?? ''
  const filter =
    view.isTyping || view.filter !== '' ? `   filter: ${view.filter}${view.isTyping ? '_' : ''}` : ''
  const logRows = Math.max(0, rows - shown.length - 3)
  const lines = view.lines
    .filter(({ line }) => line.includes(view.filter))
    .slice(-logRows || view.lines.length)
    .map(({ line }) => fit(shownLine(line), columns))
  return [
    `${BOLD}${fit(head, columns)}${PLAIN}`,
    ...shown,
    `${BOLD}${fit(`${name}${filter}`, columns)}${PLAIN}`,
    ...(logRows === 0 ? [] : lines),
    ...Array.from({ length: Math.max(0, logRows - lines.length) }, () => ''),
    `${INVERSE}${fit(view.message === '' ? KEYS : view.message, columns).padEnd(columns)}${PLAIN}`,
  ].slice(0, rows)
}

function fit(text: string, columns: number): string {
  return text.replaceAll('\t', '  ').slice(0, columns)
}
