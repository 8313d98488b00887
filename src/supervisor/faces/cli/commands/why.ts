import type { Command } from 'commander'
import { counted } from '../../../../lib/cli/counted.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { formatRecord } from '../../../../lib/cli/table.ts'
import { formatUptime } from '../../../api/uptime.ts'
import type { WireWhy } from '../../../api/why.ts'
import { contextOf } from '../client.ts'
import { shownLine } from '../paint.ts'

const SHOWN_STARTS = 5

/** Adds `why`, which explains the state of a process. */
export function addWhy(program: Command): void {
  program
    .command('why')
    .description('explain why a process is in its state, and what to do')
    .argument('<name>', 'name of a process')
    .addHelpText('after', examples('supervisor why web', 'supervisor why web --json'))
    .action(async (name: string, _options: unknown, command: Command) => {
      const { client, output } = await contextOf(command)
      const why = await client.get<WireWhy>(`/processes/${encodeURIComponent(name)}/why`)
      output.result(why, () => formatWhy(why, Date.now()))
    })
}

/** Formats an explanation as text for a terminal. */
export function formatWhy(why: WireWhy, nowMs: number): string {
  const ago = (time: string): string => `${age(nowMs - Date.parse(time))} ago`
  const head = `${why.name} is ${why.status}: ${why.reason}`
  const facts = [
    ['since', why.since === null ? [] : [ago(why.since)]],
    ['next attempt', why.next_attempt === null ? [] : [`in ${age(Date.parse(why.next_attempt) - nowMs)}`]],
    ['next run', why.next_run === null ? [] : [`in ${age(Date.parse(why.next_run) - nowMs)}`]],
    ['last exit', exitLines(why, ago)],
    ['restarts', why.restarts === 0 ? [] : [String(why.restarts)]],
    [
      'starts',
      why.starts.slice(-SHOWN_STARTS).map(({ timestamp, reason }) => `${ago(timestamp)}: ${reason}`),
    ],
    ['waits for', dependencyLines(why)],
    ['check', checkLines(why, ago)],
    ['port', why.ports.map(portLine)],
    ['failed', why.failed_requests.map((each) => `${ago(each.timestamp)}: ${requestText(each)}`)],
  ] as const
  const rows = facts.flatMap(([label, lines]) =>
    lines.map((line, at) => [at === 0 ? label : '', line] as const),
  )
  const record = rows.length === 0 ? [] : ['', formatRecord(rows)]
  return [
    head,
    ...record,
    ...section(
      'Last output',
      why.output.map(({ line }) => shownLine(line)),
    ),
    ...section('What to do', why.advice),
  ].join('\n')
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : ['', `${title}:`, ...lines.map((line) => `  ${line}`)]
}

function exitLines({ last_exit: exit }: WireWhy, ago: (time: string) => string): readonly string[] {
  if (exit === null) return []
  return [`${exit.description}, ${ago(exit.timestamp)}, after ${formatUptime(exit.uptime_seconds)}`]
}

function dependencyLines({ dependencies }: WireWhy): readonly string[] {
  return dependencies.map(
    ({ name, condition, met, status, reason }) =>
      `${name} to be ${condition}: ${met ? 'ok' : `not yet, it is ${status} (${reason})`}`,
  )
}

function checkLines(
  { healthcheck: check, health }: WireWhy,
  ago: (time: string) => string,
): readonly string[] {
  if (check === null) return []
  const { consecutive_failures: failures, retries } = check
  const result = failures === 0 ? health : `${health}, ${counted(failures, 'failure')} in a row of ${retries}`
  const last = check.failures.at(-1)
  return [
    `${check.check}: ${result}`,
    ...(last === undefined ? [] : [`failed ${ago(last.timestamp)}: ${firstLines(last.output)}`]),
  ]
}

/** Joins the lines of a check's output, of which the first are the most useful. */
function firstLines(output: string): string {
  return output.split('\n', 3).join(' / ').slice(0, 300)
}

function portLine({ port, source, holder }: WireWhy['ports'][number]): string {
  if (holder === null) return `${port} (${source}): nothing listens`
  if (holder.process !== null) return `${port} (${source}): ${holder.process} listens, process ${holder.pid}`
  const owner = holder.pid === null ? 'a program' : `process ${holder.pid} (${holder.command})`
  return `${port} (${source}): ${owner} of user ${holder.user} listens`
}

function requestText({ method, url, status_code: status, id }: WireWhy['failed_requests'][number]): string {
  return `${status} ${method} ${url} (request ${id})`
}

function age(ms: number): string {
  return formatUptime(Math.max(0, Math.round(ms / 1_000)))
}
