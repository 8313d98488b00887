import { execFileSync } from 'node:child_process'

/** What is timed: a function, or a command and its arguments. */
export type Subject = (() => unknown) | readonly [string, ...string[]]

/** One line of a table: the same job, done by us and by a peer. */
export interface Case {
  readonly name: string
  readonly ours: Subject
  readonly peer: Subject
  readonly peerName: string
  /** What each side moves in one run; its rate is then told beside the time. */
  readonly megabytes?: number
  /** What has to be made ready before each run of either side; not timed. */
  readonly beforeEach?: () => unknown
}

/** What a bench file exports as default. `prepare` returns the cases and how to clean up after them. */
export interface Bench {
  /** What exactly is timed on both sides, where that is not plain. */
  readonly note?: string
  prepare(): Promise<Prepared> | Prepared
}

export interface Prepared {
  readonly cases: readonly Case[]
  /** Further lines or tables beside the races of two, made after them from that many runs. */
  readonly more?: (runs: number) => Promise<string>
  cleanUp(): Promise<void> | void
}

/** Times in milliseconds; `ratio` is the peer's time over ours, so that above 1 we are the faster. */
export interface Line {
  readonly case: Case
  readonly oursMs: number
  readonly peerMs: number
  readonly ratio: number
  readonly minRatio: number
  readonly maxRatio: number
}

/**
 * Times one case: one warm-up of each side, then both by turns, so that what else the machine does falls on both.
 * The ratio is the median of the ratios of neighbours.
 */
export async function measure(one: Case, runs: number): Promise<Line> {
  const time = async (subject: Subject): Promise<number> => {
    await one.beforeEach?.()
    return timeMs(subject)
  }
  await time(one.ours)
  await time(one.peer)
  const ours: number[] = []
  const peer: number[] = []
  for (let i = 0; i < runs; i++) {
    ours.push(await time(one.ours))
    peer.push(await time(one.peer))
  }
  const ratios = ours.map((oursMs, i) => (peer[i] ?? Number.NaN) / oursMs)
  return {
    case: one,
    oursMs: median(ours),
    peerMs: median(peer),
    ratio: median(ratios),
    minRatio: Math.min(...ratios),
    maxRatio: Math.max(...ratios),
  }
}

/** A markdown table, one line a case. */
export function table(lines: readonly Line[]): string {
  const rows = lines.map((line) =>
    [
      line.case.name,
      timeAndRate(line.oursMs, line.case),
      `${timeAndRate(line.peerMs, line.case)} (${line.case.peerName})`,
      `${line.ratio.toFixed(2)}×`,
      `${line.minRatio.toFixed(2)}–${line.maxRatio.toFixed(2)}×`,
    ].join(' | '),
  )
  const head = [
    'case | ours, median | peer, median | peer ÷ ours | min–max',
    '--- | ---: | ---: | ---: | ---:',
  ]
  return [...head, ...rows].map((row) => `| ${row} |`).join('\n')
}

function timeAndRate(ms: number, { megabytes }: Case): string {
  const time = `${ms.toFixed(1)} ms`
  return megabytes === undefined ? time : `${time}, ${Math.round((megabytes / ms) * 1000)} MB/s`
}

/** The middle of some values, or the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2
}

async function timeMs(subject: Subject): Promise<number> {
  const startMs = performance.now()
  if (typeof subject === 'function') {
    await subject()
  } else {
    const [command, ...args] = subject
    execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  }
  return performance.now() - startMs
}
