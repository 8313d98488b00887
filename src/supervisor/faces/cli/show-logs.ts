import type { Output } from '../../../lib/cli/output.ts'
import type { WireLogEntry, WireLogs } from '../../api/log.ts'
import type { CliContext } from './client.ts'
import { createLinePainter, shownLine } from './paint.ts'
import { untilStopSignal } from './signals.ts'

/** Selection and form of lines. */
export interface LogsOptions {
  readonly group?: string
  readonly follow?: boolean
  readonly lines: number
  readonly grep?: string
  readonly regex?: boolean
  readonly times?: boolean
}

/** Shows the output of the named processes, or of all. */
export async function showLogs(
  { client, output }: CliContext,
  names: readonly string[],
  options: LogsOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...(names.length > 0 && { process: names.join(',') }),
    ...(options.group !== undefined && { group: options.group }),
    ...(options.grep !== undefined && { pattern: options.grep }),
    ...(options.regex === true && { regex: 'true' }),
  })
  // A mistyped name is an error, not empty output.
  for (const name of names) await client.get(`/processes/${encodeURIComponent(name)}`)
  const print = createPrinter(output, options)
  const past = new URLSearchParams([...query, ['lines', String(options.lines)]])
  const { logs, last_id: afterId } = await client.get<WireLogs>(`/logs?${past.toString()}`)
  if (options.follow !== true) return logs.forEach(print)
  const controller = new AbortController()
  const { signal } = controller
  // Before the first line, after which a user may end it.
  void untilStopSignal().then(() => controller.abort())
  process.stdout.on('error', () => controller.abort())
  logs.forEach(print)
  await client.follow(
    `/logs/stream?${query.toString()}`,
    ({ event, data }) => {
      if (event === 'message') print(data as WireLogEntry)
      else if (event === 'lost') reportLost(data as { process: string; lines: number })
    },
    { signal, afterId },
  )
}

function reportLost({ process: name, lines }: { readonly process: string; readonly lines: number }): void {
  process.stderr.write(`supervisor: ${lines} lines of ${name} were printed too fast to show\n`)
}

function createPrinter(output: Output, { times }: LogsOptions): (entry: WireLogEntry) => void {
  const paint = createLinePainter()
  return (entry) => {
    const time = times === true ? `${entry.timestamp} ` : ''
    if (process.stdout.isTTY) process.stdout.write(`${time}${paint(entry)}\n`)
    else output.line(entry, () => `${time}${entry.process} | ${shownLine(entry.line)}`)
  }
}
