import type { LineTest } from './line-filter.ts'
import { type LogLine, linesOf, withoutEscapes } from './log-line.ts'
import type { LogSource } from './log-store.ts'
import type { ProcessLogs } from './process-logs.ts'

/** A reader of new lines. */
export interface LogReader {
  /** Whether the reader accepts more. Until then, lines wait in the store, and the oldest may be lost. */
  readonly isReady: () => boolean
  readonly onLines: (lines: readonly LogLine[]) => void
  /** Called with the number of lines of a process that were dropped unread; an upper bound if it is not exact. */
  readonly onLost: (process: string, lines: number, isExact: boolean) => void
}

/** Filters and format of followed output. */
export interface FollowOptions {
  /** Names of processes; default: all, including later ones. */
  readonly processes?: readonly string[] | undefined
  readonly test?: LineTest | undefined
  readonly isPlain?: boolean
  /** Continues after this line; default: starts with the next line. */
  readonly afterSequence?: number | undefined
}

/** Time in which lines are batched; a single line after a pause is delivered immediately. */
const GATHER_MS = 15
const READ_BYTES = 262_144

/**
 * Delivers lines as they arrive. For a reader that is not ready only its position is kept, and it is notified of
 * missed lines.
 */
export class LogFollower {
  readonly #logs: ProcessLogs
  readonly #reader: LogReader
  readonly #options: FollowOptions
  /** Index of the next line per source. */
  readonly #next = new Map<LogSource, number>()
  readonly #unlisten: () => void
  #timer: NodeJS.Timeout | undefined
  #lastMs = 0
  #isOver = false

  constructor(logs: ProcessLogs, reader: LogReader, options: FollowOptions = {}) {
    this.#logs = logs
    this.#reader = reader
    this.#options = options
    this.#unlisten = logs.store.onLines(() => this.#schedule())
    for (const [name, source] of logs.select(options.processes))
      this.#next.set(source, this.#place(name, source))
    this.#schedule()
  }

  /** Continues after the reader became ready. */
  resume(): void {
    this.#schedule()
  }

  /** Delivers the current lines, then stops. */
  finish(): void {
    while (this.#reader.isReady() && this.#read());
    this.end()
  }

  end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#unlisten()
  }

  #place(name: string, source: LogSource): number {
    const { first, end } = source.counts()
    const after = this.#options.afterSequence
    if (after === undefined) return end
    for (const block of source.read(0, Number.MAX_SAFE_INTEGER)) {
      if (block.sequence + block.lines - 1 <= after) continue
      const from = Math.max(first, block.index, block.index + (after + 1 - block.sequence))
      // The oldest stored line is newer than the reader's last, and older ones existed.
      if (from === first && first > 0 && block.sequence > after + 1)
        this.#tellGap(name, block.sequence, after)
      return from
    }
    return end
  }

  /** Reports a gap of unknown size: at most the number of lines ever printed. */
  #tellGap(name: string, firstKept: number, after: number): void {
    this.#reader.onLost(name, firstKept - after - 1, false)
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isOver) return
    const waitMs = Math.max(0, this.#lastMs + GATHER_MS - performance.now())
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#lastMs = performance.now()
      if (this.#read()) this.#schedule()
    }, waitMs)
    this.#timer.unref()
  }

  /** Delivers lines. Returns whether there are more. */
  #read(): boolean {
    if (!this.#reader.isReady()) return false
    const lines: LogLine[] = []
    let isMore = false
    for (const [name, source] of this.#logs.select(this.#options.processes)) {
      const { first, end } = source.counts()
      // A process added after the reader started: from its first line.
      const wanted = this.#next.get(source) ?? 0
      if (wanted < first) this.#reader.onLost(name, first - wanted, true)
      const from = Math.max(first, wanted)
      this.#next.set(source, from)
      if (from >= end) continue
      const blocks = source.read(from, READ_BYTES)
      for (const block of blocks) lines.push(...this.#wanted(linesOf(name, block, from)))
      const last = blocks.at(-1)
      const next = last === undefined ? from : last.index + last.lines
      this.#next.set(source, next)
      isMore ||= next < end
    }
    if (lines.length > 0) this.#reader.onLines(lines.toSorted((a, b) => a.sequence - b.sequence))
    return isMore
  }

  #wanted(lines: readonly LogLine[]): readonly LogLine[] {
    const { test, isPlain } = this.#options
    if (test === undefined && isPlain !== true) return lines
    return lines.flatMap((line) => {
      const text = withoutEscapes(line.text)
      if (test?.(text) === false) return []
      return [isPlain === true ? { ...line, text } : line]
    })
  }
}
