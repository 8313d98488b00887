import type { Readable } from 'node:stream'

/** 0 is standard output, 1 standard error. */
export type StreamIndex = 0 | 1

/** Lines of one stream that came together; the unit in which lines are stored, so that none costs an object of its own. */
export interface LogBlock {
  /** Of the first line, counted over all processes: the order in which lines came. The next ones follow without a gap. */
  readonly sequence: number
  /** Of the first line, counted within the process. */
  readonly index: number
  readonly timeMs: number
  readonly lines: number
  readonly stream: StreamIndex
  /** The one line in it is a piece of one longer than 16 KiB, which goes on in the next of the stream. */
  readonly isCut: boolean
  /** Every line ends with a newline; a cut one with nothing. */
  readonly bytes: Buffer
}

export interface LogBounds {
  readonly lines: number
  readonly bytes: number
}

export interface LogCounts {
  /** Index of the oldest line that is kept, and of the next that comes. */
  readonly first: number
  readonly end: number
  readonly heldBytes: number
  /** What could not be written to the file. */
  readonly fileLostBytes: number
  readonly openStreams: number
}

export interface LogFile {
  readonly path: string
  readonly maxBytes: number
  /** How many full files are kept beside the current one. */
  readonly keep: number
  readonly hasTimes: boolean
}

/** The lines of one process. */
export interface LogSource {
  /** Reads a stream to its end: the descriptor of a pipe, which is then the source's own, or a stream. */
  readonly attach: (stream: StreamIndex, from: number | Readable) => void
  readonly writeTo: (file: LogFile | undefined) => void
  readonly setBounds: (bounds: LogBounds) => void
  readonly counts: () => LogCounts
  /** Blocks that hold lines from an index on, oldest first: as many as fit in `maxBytes`, and at least one if there is any. */
  readonly read: (fromIndex: number, maxBytes: number) => readonly LogBlock[]
  readonly remove: () => void
}

/** Where lines of all processes are. Whoever reads them here never holds up who writes them. */
export interface LogStore {
  readonly add: (bounds: LogBounds) => LogSource
  /** Calls back when lines have come or a stream has ended; many at once are one call. Returns how to end that. */
  readonly onLines: (listener: () => void) => () => void
  /** What the next line will be numbered with; all lines before it can be read. */
  readonly nextSequence: () => number
  readonly close: () => void
}

/** The order of a listener's calls and their end. */
export class NewsListeners {
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

  tell(): void {
    for (const listener of this.#listeners) listener()
  }
}
