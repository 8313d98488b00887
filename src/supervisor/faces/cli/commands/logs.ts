import type { Command } from 'commander'
import { wholeNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import type { Output } from '../../../../lib/cli/output.ts'
import type { WireLogEntry, WireLogs } from '../../../api/log.ts'
import { type CliContext, contextOf } from '../client.ts'
import { untilStopSignal } from '../signals.ts'
import { createLinePainter, shownLine } from '../paint.ts'

interface LogsOptions {
  readonly follow?: boolean
  readonly lines: number
  readonly grep?: string
  readonly regex?: boolean
  readonly times?: boolean
}

/** Adds `logs` and `attach`. */
export function addLogs(program: Command): void {
  program
    .command('logs')
    .description('show the output of processes')
    .argument('[names...]', 'names of processes; default: all')
    .option('-f, --follow', 'follow new output')
    .option('-n, --lines <count>', 'maximum number of earlier lines', wholeNumber, 100)
    .option('--grep <pattern>', 'only lines that contain this text')
    .option('--regex', 'the pattern is an RE2 regular expression')
    .option('-t, --times', 'prefix lines with their time')
    .addHelpText('after', examples("supervisor logs -f web worker --grep 'error|warn' --regex"))
    .action(async (names: readonly string[], options: LogsOptions, command: Command) => {
      await showLogs(await contextOf(command), names, options)
    })
  program
    .command('attach')
    .description(
      'show the output of all processes, as "supervisor up" does; interrupting it leaves them running',
    )
    .addHelpText('after', examples('supervisor attach'))
    .action(async (_options: unknown, command: Command) => {
      await showLogs(await contextOf(command), [], { follow: true, lines: 20 })
    })
}

async function showLogs(
  { client, output }: CliContext,
  names: readonly string[],
  options: LogsOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...(names.length > 0 && { process: names.join(',') }),
    ...(options.grep !== undefined && { pattern: options.grep }),
    ...(options.regex === true && { regex: 'true' }),
  })
  // A mistyped name is an error, not empty output.
  for (const name of names) await client.get(`/processes/${encodeURIComponent(name)}`)
  const print = createPrinter(output, options)
  const past = new URLSearchParams([...query, ['lines', String(options.lines)]])
  const { logs, last_id: afterId } = await client.get<WireLogs>(`/logs?${past.toString()}`)
  logs.forEach(print)
  if (options.follow !== true) return
  const controller = new AbortController()
  const { signal } = controller
  void untilStopSignal().then(() => controller.abort())
  process.stdout.on('error', () => controller.abort())
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
