import type { Static } from 'typebox'
import type { CamelCase } from '../../api/camel-case.ts'
import type { signalBodySchema, WireProcess } from '../../api/program.ts'
import type { FollowOptions, RequestOptions, Transport } from './transport.ts'

/** State of a background process. */
export type ProcessInfo = CamelCase<WireProcess>

/** A signal that a client can send. */
export type ProcessSignal = Static<typeof signalBodySchema>['signal']

/** Output of a background process. */
export type ProcessOutput =
  | {
      readonly type: 'stdout' | 'stderr'
      readonly data: string
      /** Position after it, for the option `after`. */
      readonly position: number
    }
  /** Output that was no longer kept when it was read. */
  | { readonly type: 'dropped'; readonly bytes: number }

/** Options for reading output. */
export interface OutputOptions extends FollowOptions {
  /** Position after which to start; default 0. */
  readonly after?: number | undefined
}

/** A program in the background of a workspace. It continues without its client, and ends with the server. */
export class WorkspaceProcess {
  readonly id: string
  readonly #transport: Transport
  readonly #path: string

  constructor(transport: Transport, workspacePath: string, id: string) {
    this.id = id
    this.#transport = transport
    this.#path = `${workspacePath}/processes/${encodeURIComponent(id)}`
  }

  /** Returns its state. */
  info(options: RequestOptions = {}): Promise<ProcessInfo> {
    return this.#transport.ask('GET', this.#path, options)
  }

  /** Yields its output until it ends. After a lost connection, it continues where the output stopped. */
  async *output({ after = 0, ...options }: OutputOptions = {}): AsyncGenerator<ProcessOutput, void, void> {
    let position = after
    const open = (onOpen: () => void) => this.#events(position, options, onOpen)
    for await (const { event, data, id } of this.#transport.follow(open, options, 'exit')) {
      if (event === 'stdout' || event === 'stderr') {
        position = Number(id)
        yield { type: event, data: (data as { text: string }).text, position }
      } else if (event === 'dropped') yield { type: event, ...(data as { bytes: number }) }
    }
  }

  /** Resolves with its state once it has ended. */
  async wait(options: FollowOptions = {}): Promise<ProcessInfo> {
    // No output has this position, so the only event is the last one.
    const open = (onOpen: () => void) => this.#events(Number.MAX_SAFE_INTEGER, options, onOpen)
    for await (const { event, data } of this.#transport.follow(open, options, 'exit'))
      if (event === 'exit') return data as ProcessInfo
    return this.info(options)
  }

  /** Writes to its standard input; `end` closes it afterwards. */
  async write(
    text: string,
    { end, signal }: RequestOptions & { readonly end?: boolean } = {},
  ): Promise<void> {
    await this.#transport.ask('POST', `${this.#path}/input`, { body: { text, end }, signal })
  }

  /** Sends a signal to it and its children. */
  async signal(name: ProcessSignal, options: RequestOptions = {}): Promise<void> {
    await this.#transport.ask('POST', `${this.#path}/signal`, { ...options, body: { signal: name } })
  }

  #events(after: number, { signal }: RequestOptions, onOpen: () => void) {
    return this.#transport.events('GET', `${this.#path}/output`, { query: { after }, signal }, onOpen)
  }
}
