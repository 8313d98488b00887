import { counted } from '../../lib/cli/counted.ts'
import { formatUptime } from './uptime.ts'
import type { WireWhy } from './why.ts'

const SHOWN_STARTS = 5

/** The explanation of a process's state in words. */
export interface Explanation {
  /** Name, status and reason. */
  readonly head: string
  /** Facts with a label, none of them empty. */
  readonly facts: readonly { readonly label: string; readonly lines: readonly string[] }[]
  /** Last lines of output, with control characters. */
  readonly output: readonly string[]
  /** Remedies, most important first. */
  readonly advice: readonly string[]
}

/** Puts the explanation of a process's state into words, with times relative to `nowMs`. */
export function explain(why: WireWhy, nowMs: number): Explanation {
  const ago = (time: string): string => `${age(nowMs - Date.parse(time))} ago`
  const facts = {
    since: why.since === null ? [] : [ago(why.since)],
    'next attempt': why.next_attempt === null ? [] : [`in ${age(Date.parse(why.next_attempt) - nowMs)}`],
    'next run': why.next_run === null ? [] : [`in ${age(Date.parse(why.next_run) - nowMs)}`],
    'last exit': exitLines(why, ago),
    restarts: why.restarts === 0 ? [] : [String(why.restarts)],
    starts: why.starts.slice(-SHOWN_STARTS).map(({ timestamp, reason }) => `${ago(timestamp)}: ${reason}`),
    'waits for': dependencyLines(why),
    check: checkLines(why, ago),
    port: why.ports.map(portLine),
    failed: why.failed_requests.map((each) => `${ago(each.timestamp)}: ${requestText(each)}`),
  }
  return {
    head: `${why.name} is ${why.status}: ${why.reason}`,
    facts: Object.entries(facts).flatMap(([label, lines]) => (lines.length === 0 ? [] : [{ label, lines }])),
    output: why.output.map(({ line }) => line),
    advice: why.advice,
  }
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
