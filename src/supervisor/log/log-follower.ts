import type { LineTest } from './line-filter.ts'
import { type LogLine, linesOf, withoutEscapes } from './log-line.ts'
import type { LogSource } from './log-store.ts'
import type { ProcessLogs } from './process-logs.ts'

/** Who reads lines as they come. */
export interface LogReader {
  /** Whether there is room for more. Until there is, lines wait in the store, and the oldest of them may be lost. */
  readonly isReady: () => boolean
  readonly onLines: (lines: readonly LogLine[]) => void
  /** So many lines of a process were gone before they could be read; at most so many where that is all there is to know. */
  readonly onLost: (process: string, lines: number, isExact: boolean) => void
}

export interface FollowOptions {
  /** All, also those that come later, when left out. */
  readonly processes?: readonly string[] | undefined
  readonly test?: LineTest | undefined
  readonly isPlain?: boolean
  /** Goes on behind this line; begins with what comes next when left out. */
  readonly afterSequence?: number | undefined
}

/** How long lines are gathered before they are handed on; a single one after silence goes at once. */
const GATHER_MS = 15
const READ_BYTES = 262_144

/**
 * Hands lines on as they come. A reader that is not ready costs nothing: its place is kept, not its lines, and it is told how
 * many it has missed.
 */
export class LogFollower {
  readonly #logs: ProcessLogs
  readonly #reader: LogReader
  readonly #options: FollowOptions
  /** Index of the next line, of each source. */
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

  /** The reader has room again. */
  resume(): void {
    this.#schedule()
  }

  /** Hands on what is there now, then ends. */
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
      // The oldest that is kept is newer than what the reader had, and older ones there were.
      if (from === first && first > 0 && block.sequence > after + 1)
        this.#tellGap(name, block.sequence, after)
      return from
    }
    return end
  }

  /** How many lines of the process were between is no longer known: at most as many as came at all. */
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

  /** Returns whether there is more to read. */
  #read(): boolean {
    if (!this.#reader.isReady()) return false
    const lines: LogLine[] = []
    let isMore = false
    for (const [name, source] of this.#logs.select(this.#options.processes)) {
      const { first, end } = source.counts()
      // A process that came after the reader did: from its first line.
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
