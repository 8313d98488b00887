import { OutputDecoder } from './output-decoder.ts'
import type { OutputName } from './run-program.ts'

const MAX_BYTES = 2 ** 20
/** Memory that an entry takes beside its text: a program may write single bytes. */
const ENTRY_BYTES = 64

/** A piece of output; `end` is the number of bytes up to its end, of both streams together. */
export interface OutputEntry {
  readonly stream: OutputName
  readonly text: string
  readonly end: number
}

/** Output from a position on. */
export interface OutputPart {
  readonly entries: readonly OutputEntry[]
  /** Bytes between the position and the first entry that are no longer kept. */
  readonly droppedBytes: number
}

/** The last mebibyte of a program's output as text, for any number of readers that continue where they stopped. */
export class OutputLog {
  #entries: OutputEntry[] = []
  /** Index of the first kept entry: a removal from the front of an array copies the rest. */
  #first = 0
  #keptBytes = 0
  #end = 0
  #droppedEnd = 0
  readonly #decoder = new OutputDecoder('utf8')
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  /** Whether nothing more will be added. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  add(stream: OutputName, chunk: Buffer): void {
    this.#append(stream, this.#decoder.write(stream, chunk))
  }

  close(): void {
    for (const [stream, text] of this.#decoder.end()) this.#append(stream, text)
    this.#isClosed = true
    this.#wake()
  }

  /** Returns at most `maxBytes` of output after a position, but at least one entry if there is any. */
  after(position: number, maxBytes = MAX_BYTES): OutputPart {
    const entries: OutputEntry[] = []
    const start = Math.max(position, this.#droppedEnd)
    for (let at = this.#indexAfter(start); at < this.#entries.length; at++) {
      const entry = this.#entries[at] as OutputEntry
      if (entries.length > 0 && entry.end - start > maxBytes) break
      entries.push(entry)
    }
    return { entries, droppedBytes: Math.max(0, this.#droppedEnd - position) }
  }

  /** Resolves when there is output after the position, the log is closed or the signal aborts. */
  async waitAfter(position: number, signal: AbortSignal): Promise<void> {
    if (this.#end > position || this.#isClosed || signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })
  }

  #append(stream: OutputName, text: string): void {
    if (text === '') return
    const bytes = Buffer.byteLength(text)
    this.#end += bytes
    this.#entries.push({ stream, text, end: this.#end })
    this.#keptBytes += bytes + ENTRY_BYTES
    while (this.#keptBytes > MAX_BYTES && this.#first < this.#entries.length - 1) this.#dropFirst()
    if (this.#first > this.#entries.length / 2) {
      this.#entries = this.#entries.slice(this.#first)
      this.#first = 0
    }
    this.#wake()
  }

  #dropFirst(): void {
    const { end } = this.#entries[this.#first] as OutputEntry
    this.#keptBytes -= end - this.#droppedEnd + ENTRY_BYTES
    this.#droppedEnd = end
    this.#first++
  }

  /** Returns the index of the first entry that ends after a position. */
  #indexAfter(position: number): number {
    let [low, high] = [this.#first, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#entries[middle] as OutputEntry).end > position) high = middle
      else low = middle + 1
    }
    return low
  }

  #wake(): void {
    for (const wake of this.#waiting) wake()
  }
}
