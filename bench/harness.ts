import { type Subject, timeMs } from './time.ts'

/** One row of a table: the same work, done by us and by a peer. */
export interface Case {
  readonly name: string
  readonly ours: Subject
  readonly peer: Subject
  readonly peerName: string
  /** Data moved in one run of each side; the rate is then shown beside the time. */
  readonly megabytes?: number
  /** Prepares each run of either side; not timed. */
  readonly beforeEach?: () => unknown
}

/** Default export of a bench file. `prepare` returns the cases and a function that cleans up after them. */
export interface Bench {
  /** Describes what exactly is timed on both sides, unless it is obvious. */
  readonly note?: string
  prepare(): Promise<Prepared> | Prepared
}

/** Benchmark that is ready to run. */
export interface Prepared {
  readonly cases: readonly Case[]
  /** Creates further lines or tables after the comparisons, with the given number of runs. */
  readonly more?: (runs: number) => Promise<string>
  cleanUp(): Promise<void> | void
}

/** Times in milliseconds; `ratio` is the peer's time divided by ours: above 1 ours is faster. */
export interface Line {
  readonly case: Case
  readonly oursMs: number
  readonly peerMs: number
  readonly ratio: number
  readonly minRatio: number
  readonly maxRatio: number
}

/**
 * Times one case: one warm-up of each side, then both alternating, so that other load on the machine affects both.
 * The ratio is the median of the ratios of adjacent runs.
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

/** Returns a Markdown table, one row per case. */
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

/** Returns the median. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle) - 1] ?? Number.NaN)) / 2
}
