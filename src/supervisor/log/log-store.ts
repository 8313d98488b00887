import type { Readable } from 'node:stream'

/** 0 is standard output, 1 standard error. */
export type StreamIndex = 0 | 1

/** Consecutive lines of one stream: the unit of storage, so that a line needs no separate object. */
export interface LogBlock {
  /** Sequence number of the first line across all processes. The following lines have consecutive numbers. */
  readonly sequence: number
  /** Index of the first line within the process. */
  readonly index: number
  readonly timeMs: number
  readonly lines: number
  readonly stream: StreamIndex
  /** Whether the only line is part of one longer than 16 KiB, continued in the stream's next block. */
  readonly isCut: boolean
  /** Bytes of the lines, each with a newline except a cut one. */
  readonly bytes: Buffer
}

/** Maximum stored output of a process. */
export interface LogBounds {
  readonly lines: number
  readonly bytes: number
}

/** Counters of a process's stored output. */
export interface LogCounts {
  /** Index of the oldest stored line, and of the next line. */
  readonly first: number
  readonly end: number
  readonly heldBytes: number
  /** Bytes that could not be written to the file. */
  readonly fileLostBytes: number
  readonly openStreams: number
}

/** A rotated file that receives the output of a process. */
export interface LogFile {
  readonly path: string
  readonly maxBytes: number
  /** Number of rotated files. */
  readonly keep: number
  readonly hasTimes: boolean
}

/** The lines of one process. */
export interface LogSource {
  /** Reads a stream to its end: the descriptor of a pipe, which the source then owns, or a stream. */
  readonly attach: (stream: StreamIndex, from: number | Readable) => void
  readonly writeTo: (file: LogFile | undefined) => void
  readonly setBounds: (bounds: LogBounds) => void
  readonly counts: () => LogCounts
  /** Returns the blocks with lines from an index on, oldest first: as many as fit in `maxBytes`, and at least one if there is any. */
  readonly read: (fromIndex: number, maxBytes: number) => readonly LogBlock[]
  readonly remove: () => void
}

/** Stores the lines of all processes. Readers never block writers. */
export interface LogStore {
  readonly add: (bounds: LogBounds) => LogSource
  /** Calls the listener after new lines or the end of a stream, batched. Returns a function that unsubscribes. */
  readonly onLines: (listener: () => void) => () => void
  /** Returns the sequence number of the next line; all earlier lines can be read. */
  readonly nextSequence: () => number
  readonly close: () => void
}

/** A set of listeners for new lines. */
export class LineListeners {
  readonly #listeners = new Set<() => void>()
  readonly #setListening: (isOn: boolean) => void

  constructor(setListening: (isOn: boolean) => void = () => undefined) {
    this.#setListening = setListening
  }

  add(listener: () => void): () => void {
    this.#listeners.add(listener)
    this.#setListening(true)
    return () => {
      this.#listeners.delete(listener)
      if (this.#listeners.size === 0) this.#setListening(false)
    }
  }

  notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
