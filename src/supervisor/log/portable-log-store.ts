import type { Readable } from 'node:stream'
import { Socket } from 'node:net'
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
const NEWLINE = 10
const NOTHING = Buffer.alloc(0)

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
  #openStreams = 0
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
    this.#openStreams++
    let begun: Buffer = NOTHING
    readable.on('data', (bytes: Buffer) => (begun = this.#take(stream, begun, bytes)))
    readable.on('error', () => undefined)
    readable.on('close', () => {
      this.#openStreams--
      this.#finish(stream, begun)
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
    openStreams: this.#openStreams,
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

  /** Takes bytes of one writer with an incomplete line. Returns its next incomplete line. */
  #take(stream: StreamIndex, begun: Buffer, bytes: Buffer): Buffer {
    const all = begun.length === 0 ? bytes : Buffer.concat([begun, bytes])
    const rest = this.#takeLines(stream, all, begun.length)
    this.#evict()
    this.#notify()
    // Copied, so that the rest of the chunk is not kept in memory.
    return Buffer.from(rest)
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

  #finish(stream: StreamIndex, begun: Buffer): void {
    if (begun.length > 0) this.#keep(stream, Buffer.concat([begun, Buffer.from('\n')]), 1, false)
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
