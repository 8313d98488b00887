import { spawnSync } from 'node:child_process'
import { messageOf } from '../../../../lib/errors/message.ts'
import type { WireTerminalState } from '../../../api/terminal.ts'
import type { StreamEvent, SupervisorClient } from '../client.ts'
import { DetachKeys } from './detach-keys.ts'
import { TerminalModes } from './terminal-modes.ts'

/** Maximum bytes of input in one request; less than the API accepts. */
const INPUT_BYTES = 16_384
/** Input typed while a request is under way. */
const MAX_QUEUED_BYTES = 1_048_576

/** End of an attachment. */
export type AttachEnd =
  | { readonly is: 'detached' }
  /** The process is down and will not start by itself. */
  | { readonly is: 'over'; readonly state: WireTerminalState }

/** Connects this terminal to the terminal of a process until the user detaches or the process stays down. */
export async function attachTerminal(
  client: SupervisorClient,
  name: string,
  detachKeys: Buffer,
): Promise<AttachEnd> {
  const { stdin, stdout } = process
  const path = `/processes/${encodeURIComponent(name)}/terminal`
  const controller = new AbortController()
  const end = Promise.withResolvers<AttachEnd>()
  const modes = new TerminalModes()
  const keys = new DetachKeys(detachKeys)
  const input = new InputQueue((body) => client.post(path, body), end.reject)
  const show = ({ event, data }: StreamEvent): void => {
    if (event === 'state') {
      const state = data as WireTerminalState
      if (state.over) end.resolve({ is: 'over', state })
    } else if (event === 'lost') {
      stdout.write(`\r\n[${(data as { bytes: number }).bytes} bytes were printed too fast to show]\r\n`)
    } else {
      const bytes = Buffer.from((data as { data: string }).data, 'base64')
      modes.read(bytes)
      stdout.write(bytes)
    }
  }
  const type = (bytes: Buffer): void => {
    const { input: typed, isDetach } = keys.read(bytes)
    input.add(typed)
    if (isDetach) end.resolve({ is: 'detached' })
  }
  const resize = (): void => {
    // Some terminals, such as serial lines, have no known size.
    if (stdout.columns > 0 && stdout.rows > 0) input.resize(stdout.columns, stdout.rows)
  }
  const onSignal = (): void => end.resolve({ is: 'detached' })
  resize()
  stdin.setRawMode(true)
  keepOutput()
  stdin.on('data', type)
  stdout.on('resize', resize)
  process.once('SIGTERM', onSignal).once('SIGHUP', onSignal)
  const following = client
    .follow(path, show, { signal: controller.signal })
    .then(() => end.reject(new Error(`the supervisor closed the connection to "${name}"`)), end.reject)
  try {
    return await end.promise
  } finally {
    stdin.off('data', type).pause()
    stdout.off('resize', resize)
    await input.drained().catch(() => undefined)
    controller.abort()
    await following
    stdin.setRawMode(false)
    stdout.write(modes.reset())
  }
}

/**
 * Stops this terminal from changing the output, which has passed through the process's terminal already: a line feed
 * would also return to the first column, where full-screen programs only mean the next line. The raw mode of Node.js keeps
 * this translation; leaving raw mode restores all settings. Source: uv_tty_set_mode, termios(3).
 */
function keepOutput(): void {
  // Without stty only such programs look wrong.
  spawnSync('stty', ['-opost'], { stdio: ['inherit', 'ignore', 'ignore'] })
}

/** Sends input and sizes one request at a time, in their order. */
class InputQueue {
  readonly #send: (body: Readonly<Record<string, unknown>>) => Promise<unknown>
  readonly #fail: (error: Error) => void
  #queued: Buffer[] = []
  #queuedBytes = 0
  #size: { readonly columns: number; readonly rows: number } | undefined
  #sending: Promise<void> | undefined

  constructor(
    send: (body: Readonly<Record<string, unknown>>) => Promise<unknown>,
    fail: (error: Error) => void,
  ) {
    this.#send = send
    this.#fail = fail
  }

  add(bytes: Buffer): void {
    if (bytes.length === 0) return
    if (this.#queuedBytes + bytes.length > MAX_QUEUED_BYTES)
      return this.#fail(new Error('the process reads its input too slowly'))
    this.#queued.push(bytes)
    this.#queuedBytes += bytes.length
    this.#start()
  }

  resize(columns: number, rows: number): void {
    this.#size = { columns, rows }
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
      const all = Buffer.concat(this.#queued)
      const part = all.subarray(0, INPUT_BYTES)
      this.#queued = [all.subarray(INPUT_BYTES)]
      this.#queuedBytes = all.length - part.length
      const size = this.#size
      this.#size = undefined
      try {
        await this.#send({
          ...(size && { size }),
          ...(part.length > 0 && { input: part.toString('base64') }),
        })
      } catch (error) {
        // A process that is being restarted reads no input; the terminal has not ended.
        if ((error as { code?: string }).code === 'PROCESS_NOT_RUNNING') continue
        this.#queuedBytes = 0
        this.#fail(error instanceof Error ? error : new Error(messageOf(error)))
      }
    }
  }
}
