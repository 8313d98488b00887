import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../../../src/lib/process/package.ts'

/** Shell for process-compose projects, which records each command in `PROJECT_EVENTS`. */
export const RECORDING_SHELL = join(packageRoot, 'test/support/supervisor/recording-shell')

/** The start or end of a command. */
export interface ProjectEvent {
  readonly timeMs: number
  readonly is: 'start' | 'end'
  /** Whether it is a process itself, or a probe or stop command of it. */
  readonly of: 'process' | 'probe' | 'stop'
  readonly process: string
  readonly replica: string
  /** Exit status of an end; of no meaning after a signal. */
  readonly status: number
}

interface Probe {
  readonly exec?: { readonly command: string }
  readonly initial_delay_seconds?: number
  readonly period_seconds?: number
  readonly failure_threshold?: number
}

interface Process {
  readonly command?: string
  readonly depends_on?: Readonly<Record<string, { readonly condition?: string }>>
  readonly readiness_probe?: Probe
  readonly liveness_probe?: Probe
  readonly availability?: { readonly backoff_seconds?: number }
  readonly shutdown?: { readonly command?: string }
}

/** Reads the processes of a process-compose file, without those of files that it extends. */
export function readProcesses(file: string): Readonly<Record<string, Process>> {
  const { processes = {} }: { processes?: Record<string, Process> } = parse(readFileSync(file, 'utf8'))
  return processes
}

/** Reads recorded events in order of time. */
export function readEvents(
  file: string,
  processes: Readonly<Record<string, Process>>,
): readonly ProjectEvent[] {
  const all = Object.values(processes)
  const commandsOf = (texts: readonly (string | undefined)[]) =>
    texts.flatMap((text) => (text === undefined ? [] : [text.replaceAll('$$', '$').replaceAll('\n', ' ')]))
  const probes = commandsOf(
    all.flatMap((one) => [one.readiness_probe?.exec?.command, one.liveness_probe?.exec?.command]),
  )
  const stops = commandsOf(all.map(({ shutdown }) => shutdown?.command))
  const events = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line): ProjectEvent => {
      const [time, is, status, process = '', replica = '', command = ''] = line.split('\t')
      const isOneOf = (texts: readonly string[]) => texts.some((text) => command.endsWith(text))
      return {
        timeMs: Number(time) * 1_000,
        is: is === 'end' ? 'end' : 'start',
        of: isOneOf(probes) ? 'probe' : isOneOf(stops) ? 'stop' : 'process',
        process,
        replica,
        status: Number(status),
      }
    })
  return events.toSorted((a, b) => a.timeMs - b.timeMs)
}

/**
 * Returns what contradicts the order and the minimum times that a project prescribes. A minimum is measured from an
 * event that precedes the tool's own: the start of the tool, or the end of what was waited for.
 *
 * @param isStopped whether the tool stopped a process because of its probes
 */
export function contradictions(
  processes: Readonly<Record<string, Process>>,
  events: readonly ProjectEvent[],
  startMs: number,
  isStopped: (name: string) => boolean,
): readonly string[] {
  const found: string[] = []
  const claim = (isTrue: boolean, what: string): void => {
    if (!isTrue) found.push(what)
  }
  for (const [name, one] of Object.entries(processes)) {
    const own = events.filter(({ process }) => process === name)
    const replicas = [...new Set(own.map(({ replica }) => replica))]
    for (const replica of replicas) {
      const runs = own.filter((each) => each.replica === replica)
      const starts = runs.filter(({ is, of }) => is === 'start' && of === 'process')
      const ends = runs.filter(({ is, of }) => is === 'end' && of === 'process')
      const [first] = starts
      if (first === undefined) continue
      let sinceMs = startMs
      for (const [other, { condition = 'process_completed' }] of Object.entries(one.depends_on ?? {})) {
        const awaited = awaitedEnd(events, other, processes[other] ?? {}, condition, startMs)
        if (awaited === undefined) continue
        claim(awaited <= first.timeMs, `${name} started before ${other} was ${condition}`)
        sinceMs = Math.max(sinceMs, Math.min(awaited, first.timeMs))
      }
      const backoffMs = 1_000 * Math.max(1, one.availability?.backoff_seconds ?? 1)
      for (const [at, { timeMs }] of starts.slice(1).entries()) {
        const end = ends[at]
        if (end !== undefined)
          claim(timeMs - end.timeMs >= backoffMs, `${name} was started again within ${backoffMs} ms`)
      }
      const probe = one.readiness_probe ?? one.liveness_probe
      if (probe === undefined || starts.length > 1) continue
      const probes = runs.filter(({ of }) => of === 'probe')
      for (const [at, { timeMs }] of probes.filter(({ is }) => is === 'start').entries())
        claim(
          timeMs - sinceMs >= earliestMs(probe, at),
          `probe ${at + 1} of ${name} ran ${Math.round(timeMs - sinceMs)} ms after its start`,
        )
      const threshold = probe.failure_threshold || 3
      const failures = probes.filter(({ is, status }) => is === 'end' && status !== 0).length
      if (probe.exec !== undefined && isStopped(name))
        claim(failures >= threshold, `${name} was stopped after ${failures} failed probes, not ${threshold}`)
    }
  }
  return found
}

/** Returns the time before which a probe, counted from 0, must not run. */
function earliestMs(probe: Probe, at: number): number {
  return 1_000 * ((probe.initial_delay_seconds ?? 0) + at * (probe.period_seconds || 10))
}

/** Returns the time of the event that a dependent waits for; undefined when it was not recorded. */
function awaitedEnd(
  events: readonly ProjectEvent[],
  other: string,
  { readiness_probe: probe }: Process,
  condition: string,
  startMs: number,
): number | undefined {
  const ends = events.filter(({ process, is }) => process === other && is === 'end')
  if (condition === 'process_healthy' && probe !== undefined) {
    const ready = ends.find(({ of, status }) => of === 'probe' && status === 0)
    return Math.max(ready?.timeMs ?? 0, startMs + earliestMs(probe, 0))
  }
  if (!condition.startsWith('process_completed')) return undefined
  const last = ends.findLast(({ of }) => of === 'process')
  if (last === undefined) return undefined
  const isAwaited = condition === 'process_completed' || last.status === 0
  return isAwaited ? last.timeMs : Number.POSITIVE_INFINITY
}
