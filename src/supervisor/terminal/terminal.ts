import type { Pty } from '../../native/programs/pty.ts'
import { fault } from '../errors.ts'

/** Output sent to a new viewer first. */
const SCROLLBACK_BYTES = 131_072
/** Input that a program has not read yet. */
const MAX_PENDING_BYTES = 65_536

/** Size of a terminal in characters. */
export interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** The terminal of a process across its runs, with any number of viewers; each may type. */
export class Terminal {
  readonly #name: string
  readonly #viewers = new Set<(bytes: Buffer) => void>()
  #scrollback: Buffer[] = []
  #scrollbackBytes = 0
  #isTruncated = false
  #size: TerminalSize | undefined
  #pty: Pty | undefined

  constructor(name: string) {
    this.#name = name
  }

  /** Connects the terminal of a new run; it is closed when its programs have exited. */
  connect(pty: Pty): void {
    this.#pty?.close()
    this.#pty = pty
    const { stream } = pty
    stream.on('data', (bytes: Buffer) => this.#took(bytes))
    stream.on('error', () => undefined)
    const end = (): void => {
      pty.close()
      if (this.#pty === pty) this.#pty = undefined
    }
    stream.on('end', end).on('close', end)
    if (this.#size !== undefined) pty.resize(this.#size.columns, this.#size.rows)
  }

  /** Calls the viewer with all output from now on. Returns the stored output, and a function that ends this. */
  view(viewer: (bytes: Buffer) => void): { readonly scrollback: Buffer; readonly leave: () => void } {
    this.#viewers.add(viewer)
    const all = Buffer.concat(this.#scrollback)
    // A line cut in the middle could begin with half a control sequence.
    const scrollback = this.#isTruncated ? all.subarray(all.indexOf('\n') + 1) : all
    return { scrollback, leave: () => void this.#viewers.delete(viewer) }
  }

  /** Types into the terminal. @throws PROCESS_NOT_RUNNING without a run, and INPUT_NOT_READ when the program does not read */
  write(bytes: Buffer): void {
    const stream = this.#pty?.stream
    if (stream === undefined)
      throw fault('PROCESS_NOT_RUNNING', `process "${this.#name}" is not running, so it reads no input`)
    if (stream.writableLength + bytes.length > MAX_PENDING_BYTES)
      throw fault(
        'INPUT_NOT_READ',
        `process "${this.#name}" does not read its input; wait, or send less at a time`,
      )
    stream.write(bytes)
  }

  /** Sets the size; the last one of several viewers applies, also to later runs. */
  resize(size: TerminalSize): void {
    this.#size = size
    this.#pty?.resize(size.columns, size.rows)
  }

  /** Closes the terminal; its programs get SIGHUP. */
  close(): void {
    this.#pty?.close()
    this.#pty = undefined
  }

  #took(bytes: Buffer): void {
    this.#scrollback.push(bytes)
    this.#scrollbackBytes += bytes.length
    while (this.#scrollbackBytes > SCROLLBACK_BYTES) {
      this.#scrollbackBytes -= this.#scrollback.shift()?.length ?? 0
      this.#isTruncated = true
    }
    for (const viewer of this.#viewers) viewer(bytes)
  }
}
