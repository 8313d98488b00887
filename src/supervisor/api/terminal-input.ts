import { messageOf } from '../../lib/errors/message.ts'

/** Maximum bytes of input in one request; less than the API accepts. */
const REQUEST_BYTES = 16_384
/** Input typed while a request is under way. */
const MAX_QUEUED_BYTES = 1_048_576

interface TerminalSize {
  readonly columns: number
  readonly rows: number
}

/** A request to a terminal: input in Base64, a new size, or both. */
interface TerminalRequest {
  readonly input?: string
  readonly size?: TerminalSize
}

/** A client's input and sizes for a terminal, sent in their order, one request at a time. */
export class TerminalInput {
  readonly #send: (body: TerminalRequest) => Promise<unknown>
  readonly #fail: (error: Error) => void
  #queued: Uint8Array[] = []
  #queuedBytes = 0
  #size: TerminalSize | undefined
  #sending: Promise<void> | undefined

  /** @param fail called when a request fails or the process reads too slowly; the input that waited is discarded */
  constructor(send: (body: TerminalRequest) => Promise<unknown>, fail: (error: Error) => void) {
    this.#send = send
    this.#fail = fail
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    if (this.#queuedBytes + bytes.length > MAX_QUEUED_BYTES)
      return this.#fail(new Error('the process reads its input too slowly'))
    this.#queued.push(bytes)
    this.#queuedBytes += bytes.length
    this.#start()
  }

  resize(size: TerminalSize): void {
    this.#size = size
    this.#start()
  }

  /** Resolves when everything has been sent. */
  async drained(): Promise<void> {
    await this.#sending
  }

  #start(): void {
    this.#sending ??= this.#run().finally(() => (this.#sending = undefined))
  }

  async #run(): Promise<void> {
    while (this.#queuedBytes > 0 || this.#size !== undefined) {
      const part = this.#takePart()
      const size = this.#size
      this.#size = undefined
      try {
        await this.#send({
          ...(size && { size }),
          ...(part.length > 0 && { input: btoa(String.fromCharCode(...part)) }),
        })
      } catch (error) {
        // A process that is being restarted reads no input; the terminal has not ended.
        if ((error as { readonly code?: string }).code === 'PROCESS_NOT_RUNNING') continue
        this.#queued = []
        this.#queuedBytes = 0
        this.#fail(error instanceof Error ? error : new Error(messageOf(error)))
      }
    }
  }

  /** Takes the queued input that fits into one request. */
  #takePart(): Uint8Array {
    const part = new Uint8Array(Math.min(REQUEST_BYTES, this.#queuedBytes))
    for (let length = 0; length < part.length;) {
      const [first = new Uint8Array()] = this.#queued
      const taken = first.subarray(0, part.length - length)
      part.set(taken, length)
      length += taken.length
      if (taken.length === first.length) this.#queued.shift()
      else this.#queued[0] = first.subarray(taken.length)
    }
    this.#queuedBytes -= part.length
    return part
  }
}
