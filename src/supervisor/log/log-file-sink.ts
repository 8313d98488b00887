import { closeSync, constants, fstatSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import type { LogFile } from './log-store.ts'

/** A file that lines are appended to, and that makes way for a new one when it is full: FILE, FILE.1 … FILE.KEEP. */
export class LogFileSink {
  readonly #options: LogFile
  #fd: number | undefined
  #size = 0
  #lostBytes = 0

  constructor(options: LogFile) {
    this.#options = options
  }

  get lostBytes(): number {
    return this.#lostBytes
  }

  /** What cannot be written is counted and left out: a full disk must not stop a program. */
  write(lines: Buffer, timeMs: number): void {
    const bytes = this.#options.hasTimes ? stamped(lines, timeMs) : lines
    try {
      if (this.#fd !== undefined && this.#size > 0 && this.#size + bytes.length > this.#options.maxBytes)
        this.#rotate()
      this.#fd ??= this.#open()
      let at = 0
      while (at < bytes.length) at += writeSync(this.#fd, bytes, at)
      this.#size += bytes.length
    } catch {
      this.#lostBytes += bytes.length
    }
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
    for (let i = keep; i > 0; i--) {
      try {
        renameSync(i === 1 ? path : `${path}.${i - 1}`, `${path}.${i}`)
      } catch {
        // There are not yet so many.
      }
    }
    if (keep === 0) rmSync(path, { force: true })
  }
}

function stamped(lines: Buffer, timeMs: number): Buffer {
  const stamp = `${new Date(timeMs).toISOString()} `
  const text = lines.toString('latin1')
  const isEnded = text.endsWith('\n')
  const all = (isEnded ? text.slice(0, -1) : text).replaceAll('\n', `\n${stamp}`)
  return Buffer.from(`${stamp}${all}${isEnded ? '\n' : ''}`, 'latin1')
}
