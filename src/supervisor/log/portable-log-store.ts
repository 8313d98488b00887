import type { Readable } from 'node:stream'
import { Socket } from 'node:net'
import { shownState, lastState, lastStates } from './rewritten-line.ts'
import {
  type LogBlock,
  type LogBounds,
  type LogCounts,
  type LogFile,
  type LogSource,
  type LogStore,
  LineListeners,
  type StreamIndex,
} from './log-store.ts'
import { LogFileSink } from './log-file-sink.ts'

const MAX_LINE_BYTES = 16 * 1024
/** Memory of a block in addition to its bytes. */
const BLOCK_OVERHEAD_BYTES = 64
/** Between two states of a line that carriage returns rewrite, and from bytes to their state at least. */
const STATE_PERIOD_MS = 1_000
const STATE_DELAY_MS = 200
const NEWLINE = 10
const RETURN = 13
const NOTHING = Buffer.alloc(0)

/** The line that a writer of a stream has begun. */
interface UnfinishedLine {
  readonly stream: StreamIndex
  /** With carriage returns: its last state, and one carriage return if that has ended. */
  bytes: Buffer
  /** Whether carriage returns rewrite it. */
  isRewritten: boolean
  /** The state that was taken as a line last. */
  shown: Buffer
}

/** Creates the JavaScript fallback of `native/log/` for systems other than Linux, with the same blocks. */
export function createPortableLogStore(now: () => number = Date.now): LogStore {
  const listeners = new LineListeners()
  let sequence = 1
  const next = (lines: number): number => (sequence += lines) - lines
  return {
    add: (bounds) => new PortableSource(bounds, next, now, () => listeners.notify()),
    onLines: (listener) => listeners.add(listener),
    nextSequence: () => sequence,
    close: () => undefined,
  }
}

class PortableSource implements LogSource {
  #bounds: LogBounds
  readonly #next: (lines: number) => number
  readonly #now: () => number
  readonly #notify: () => void
  #blocks: LogBlock[] = []
  #nextIndex = 0
  #heldBytes = 0
  readonly #begun = new Set<UnfinishedLine>()
  #statesTimer: NodeJS.Timeout | undefined
  #statesMs = -STATE_PERIOD_MS
  #file: LogFileSink | undefined

  constructor(bounds: LogBounds, next: (lines: number) => number, now: () => number, notify: () => void) {
    this.#bounds = bounds
    this.#next = next
    this.#now = now
    this.#notify = notify
  }

  attach = (stream: StreamIndex, from: number | Readable): void => {
    const readable =
      typeof from === 'number' ? new Socket({ fd: from, readable: true, writable: false }) : from
    const begun: UnfinishedLine = { stream, bytes: NOTHING, isRewritten: false, shown: NOTHING }
    this.#begun.add(begun)
    readable.on('data', (bytes: Buffer) => this.#take(begun, bytes))
    readable.on('error', () => undefined)
    readable.on('close', () => {
      this.#begun.delete(begun)
      this.#finish(begun)
    })
  }

  writeTo = (file: LogFile | undefined): void => {
    this.#file?.close()
    this.#file = file && new LogFileSink(file)
  }

  setBounds = (bounds: LogBounds): void => {
    this.#bounds = bounds
    this.#evict()
  }

  counts = (): LogCounts => ({
    first: this.#first(),
    end: this.#nextIndex,
    heldBytes: this.#heldBytes,
    fileLostBytes: this.#file?.lostBytes ?? 0,
    openStreams: this.#begun.size,
  })

  read = (fromIndex: number, maxBytes: number): readonly LogBlock[] => {
    const from = Math.max(fromIndex, this.#first())
    const begin = this.#blocks.findIndex((block) => block.index + block.lines > from)
    if (begin < 0) return []
    let size = 0
    const end = this.#blocks.findIndex((block, at) => {
      if (at < begin) return false
      size += block.bytes.length
      return at > begin && size > maxBytes
    })
    return this.#blocks.slice(begin, end < 0 ? undefined : end)
  }

  remove = (): void => this.writeTo(undefined)

  #take(begun: UnfinishedLine, bytes: Buffer): void {
    const { stream, bytes: before } = begun
    const all = before.length === 0 ? bytes : Buffer.concat([before, bytes])
    const rest =
      begun.isRewritten || bytes.includes(RETURN)
        ? this.#takeStates(begun, all)
        : this.#takeLines(stream, all, before.length)
    // Copied, so that the rest of the chunk is not kept in memory.
    begun.bytes = Buffer.from(rest)
    if (begun.isRewritten) this.#awaitStates()
    this.#evict()
    this.#notify()
  }

  /** Takes lines of which some have carriage returns. Returns the incomplete line. */
  #takeStates(begun: UnfinishedLine, bytes: Buffer): Buffer {
    const end = bytes.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      const states = lastStates(bytes.subarray(0, end))
      const first = states.subarray(0, states.indexOf(NEWLINE))
      const isShown = begun.shown.length > 0 && first.equals(begun.shown)
      this.#takeLines(begun.stream, isShown ? states.subarray(first.length + 1) : states, 0)
      begun.isRewritten = false
      begun.shown = NOTHING
    }
    const rest = bytes.subarray(end)
    begun.isRewritten ||= rest.includes(RETURN)
    const hasEnded = begun.isRewritten && rest.at(-1) === RETURN
    const state = begun.isRewritten ? lastState(rest) : rest
    return this.#takeLines(begun.stream, hasEnded ? Buffer.concat([state, Buffer.of(RETURN)]) : state, 0)
  }

  /** Takes states as lines after a delay, at most one a second of each incomplete line. */
  #awaitStates(): void {
    if (this.#statesTimer !== undefined) return
    const restMs = this.#statesMs + STATE_PERIOD_MS - performance.now()
    this.#statesTimer = setTimeout(() => this.#takeShown(), Math.max(STATE_DELAY_MS, restMs)).unref()
  }

  #takeShown(): void {
    this.#statesTimer = undefined
    this.#statesMs = performance.now()
    for (const begun of this.#begun) {
      const state = begun.isRewritten ? shownState(lastState(begun.bytes)) : NOTHING
      if (state.length === 0 || state.equals(begun.shown)) continue
      this.#keep(begun.stream, Buffer.concat([state, Buffer.of(NEWLINE)]), 1, false)
      begun.shown = state
    }
    this.#evict()
    this.#notify()
  }

  /** Returns the incomplete line. The first `scanned` bytes contain no newline. */
  #takeLines(stream: StreamIndex, bytes: Buffer, scanned: number): Buffer {
    let begin = 0
    let at = 0
    let count = 0
    const keepShort = (): void => {
      if (count > 0) this.#keep(stream, bytes.subarray(begin, at), count, false)
      count = 0
    }
    const cut = (end: number): void => {
      if (end - at <= MAX_LINE_BYTES) return
      keepShort()
      while (end - at > MAX_LINE_BYTES) {
        const size = cutAt(bytes, at)
        this.#keep(stream, bytes.subarray(at, at + size), 1, true)
        at += size
      }
      begin = at
    }
    for (let end = bytes.indexOf(NEWLINE, scanned); end >= 0; end = bytes.indexOf(NEWLINE, at)) {
      cut(end)
      at = end + 1
      count++
    }
    keepShort()
    begin = at
    cut(bytes.length)
    return bytes.subarray(at)
  }

  #finish({ stream, bytes, shown }: UnfinishedLine): void {
    const state = lastState(bytes)
    if (state.length > 0 && !state.equals(shown))
      this.#keep(stream, Buffer.concat([state, Buffer.of(NEWLINE)]), 1, false)
    this.#evict()
    this.#notify()
  }

  #keep(stream: StreamIndex, bytes: Buffer, lines: number, isCut: boolean): void {
    const timeMs = this.#now()
    const block = {
      sequence: this.#next(lines),
      index: this.#nextIndex,
      timeMs,
      lines,
      stream,
      isCut,
      bytes: Buffer.from(bytes),
    }
    this.#file?.write(block.bytes, timeMs)
    this.#nextIndex += lines
    this.#heldBytes += bytes.length + BLOCK_OVERHEAD_BYTES
    this.#blocks.push(block)
  }

  #evict(): void {
    let gone = 0
    for (; gone < this.#blocks.length - 1; gone++) {
      const [block] = this.#blocks.slice(gone, gone + 1)
      if (block === undefined) break
      const isOver =
        this.#heldBytes > this.#bounds.bytes ||
        this.#nextIndex - block.index - block.lines >= this.#bounds.lines
      if (!isOver) break
      this.#heldBytes -= block.bytes.length + BLOCK_OVERHEAD_BYTES
    }
    if (gone > 0) this.#blocks = this.#blocks.slice(gone)
  }

  #first(): number {
    const [oldest] = this.#blocks
    return Math.max(this.#nextIndex - this.#bounds.lines, oldest?.index ?? this.#nextIndex)
  }
}

/** Returns the length of the next part of an overlong line, never splitting a UTF-8 character. */
function cutAt(bytes: Buffer, from: number): number {
  let size = MAX_LINE_BYTES
  while (size > MAX_LINE_BYTES - 4 && ((bytes[from + size] ?? 0) & 0xc0) === 0x80) size--
  return size === MAX_LINE_BYTES - 4 ? MAX_LINE_BYTES : size
}
