import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import type { LogFile } from './log-store.ts'

const NEWLINE = 0x0a

/** Appends lines to a file and rotates it when it is full: FILE, FILE.1 … FILE.KEEP. */
export class LogFileSink {
  readonly #options: LogFile
  #fd: number | undefined
  #size = 0
  #lostBytes = 0
  /** Lost bytes not yet recorded in the file. */
  #untoldBytes = 0
  #endsInLine = false

  constructor(options: LogFile) {
    this.#options = options
  }

  get lostBytes(): number {
    return this.#lostBytes
  }

  /**
   * Lines that cannot be written are counted and dropped: a full disk must not stop a program. The next successful write
   * starts with a line that records the gap.
   */
  write(lines: Buffer, timeMs: number): void {
    const bytes = this.#options.hasTimes ? stamped(lines, timeMs) : lines
    if (this.#fd !== undefined && this.#size > 0 && this.#size + bytes.length > this.#options.maxBytes)
      this.#rotate()
    if (this.#untoldBytes > 0) {
      const gap = `${this.#endsInLine ? '\n' : ''}[${this.#untoldBytes} bytes of lines could not be written here]\n`
      if (this.#put(Buffer.from(gap)) < gap.length) return this.#lose(bytes.length)
      this.#untoldBytes = 0
    }
    this.#lose(bytes.length - this.#put(bytes))
  }

  /** Returns the number of bytes written. */
  #put(bytes: Buffer): number {
    let done = 0
    try {
      this.#fd ??= this.#open()
      while (done < bytes.length) done += writeSync(this.#fd, bytes, done)
    } catch {
      // The rest counts as lost.
    }
    if (done > 0) this.#endsInLine = bytes[done - 1] !== NEWLINE
    this.#size += done
    return done
  }

  #lose(bytes: number): void {
    this.#lostBytes += bytes
    this.#untoldBytes += bytes
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  #open(): number {
    const { O_WRONLY, O_CREAT, O_APPEND, O_NOFOLLOW } = constants
    const fd = openSync(this.#options.path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0o640)
    this.#size = fstatSync(fd).size
    return fd
  }

  #rotate(): void {
    const { path, keep } = this.#options
    this.close()
    rotateFiles(path, keep)
  }
}

/** Renames a closed file and its predecessors: FILE to FILE.1, FILE.1 to FILE.2. With `keep` 0 it is removed. */
export function rotateFiles(path: string, keep: number): void {
  for (let i = keep; i > 0; i--) {
    try {
      renameSync(i === 1 ? path : `${path}.${i - 1}`, `${path}.${i}`)
    } catch {
      // Fewer rotated files exist.
    }
  }
  if (keep === 0) rmSync(path, { force: true })
}

function stamped(lines: Buffer, timeMs: number): Buffer {
  const stamp = `${new Date(timeMs).toISOString()} `
  const text = lines.toString('latin1')
  const isEnded = text.endsWith('\n')
  const all = (isEnded ? text.slice(0, -1) : text).replaceAll('\n', `\n${stamp}`)
  return Buffer.from(`${stamp}${all}${isEnded ? '\n' : ''}`, 'latin1')
}
