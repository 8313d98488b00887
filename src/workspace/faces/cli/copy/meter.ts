import type { Transform, TransformCallback } from 'node:stream'
import { Transform as TransformStream } from 'node:stream'
import { formatBytes } from '../../../../lib/cli/bytes.ts'
import { counted } from '../../../../lib/cli/counted.ts'

const EVERY_MS = 200

/** Counts what is copied, and shows it on standard error if that is a terminal. */
export class CopyMeter {
  files = 0
  bytes = 0
  /** Devices, FIFOs and sockets, which are not copied. */
  skipped = 0
  readonly #isShown = process.stderr.isTTY
  #shownAtMs = 0

  /** Adds copied content. */
  add(bytes: number): void {
    this.bytes += bytes
    if (!this.#isShown || Date.now() - this.#shownAtMs < EVERY_MS) return
    this.#shownAtMs = Date.now()
    process.stderr.write(`\r\u001B[K${this.files > 0 ? this.toString() : formatBytes(this.bytes)}`)
  }

  /** Removes the progress line. */
  clear(): void {
    if (this.#isShown) process.stderr.write('\r\u001B[K')
  }

  /** Returns a stream that counts the bytes of an archive. */
  counter(): Transform {
    return new TransformStream({
      transform: (chunk: Buffer, _encoding: string, done: TransformCallback) => {
        this.add(chunk.length)
        done(null, chunk)
      },
    })
  }

  toString(): string {
    return `${counted(this.files, 'file')}, ${formatBytes(this.bytes)}`
  }
}
