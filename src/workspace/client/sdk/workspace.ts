import type { Static } from 'typebox'
import type { CamelCase } from '../../api/camel-case.ts'
import type { WireCheckpoint, WireRewound } from '../../api/checkpoint.ts'
import type { forkBodySchema, WireForked } from '../../api/fork.ts'
import type { portSchema, waitQuerySchema } from '../../api/inside.ts'
import type { endToWire, execBodySchema, processBodySchema, WireExecResult } from '../../api/program.ts'
import type { settingsBodySchema } from '../../api/settings.ts'
import type { WireWorkspace } from '../../api/workspace.ts'
import { WorkspaceCode } from './code.ts'
import { CLIENT_CODES, ConnectionError, WaitTimeoutError, WorkspaceError } from './errors.ts'
import { WorkspaceFiles } from './files.ts'
import { type ProcessInfo, WorkspaceProcess } from './process.ts'
import type { Request, RequestOptions, StreamEvent, Transport } from './transport.ts'

/** State of a workspace. */
export type WorkspaceInfo = CamelCase<WireWorkspace>

/** A line for the user's shell, or a program and its arguments. */
export type Program = string | readonly string[]

/** Encoding of output: text in UTF-8, or bytes. */
export type Encoding = 'utf8' | 'bytes'

/** Options of a background process. */
export type SpawnOptions = RequestOptions &
  Omit<CamelCase<Static<typeof processBodySchema>>, 'command' | 'argv'>

/** Settings that can change: labels, wake, idle limits, checkpoints, schedule and expiry. */
export type SettingsOptions = RequestOptions & CamelCase<Static<typeof settingsBodySchema>>

/** Number of forks and their names. */
export type ForkOptions = RequestOptions & CamelCase<Static<typeof forkBodySchema>>

/** New forks of a workspace. */
export type Forks = Omit<CamelCase<WireForked>, 'workspaces'> & { readonly workspaces: readonly Workspace[] }

/** The files of a workspace at a time. */
export type Checkpoint = CamelCase<WireCheckpoint>

/** Options of a program that runs to its end. */
export type ExecOptions<E extends Encoding = Encoding> = RequestOptions &
  Omit<CamelCase<Static<typeof execBodySchema>>, 'command' | 'argv' | 'encoding'> & {
    /** Encoding of the output; default `utf8`. */
    readonly encoding?: E | undefined
  }

type Data<E extends Encoding> = E extends 'bytes' ? Uint8Array : string

/** The end of a program and its output. */
export type ExecResult<E extends Encoding = 'utf8'> = Omit<CamelCase<WireExecResult>, 'stdout' | 'stderr'> & {
  readonly stdout: Data<E>
  readonly stderr: Data<E>
}

/** A piece of output, or the end of the program. */
export type ExecEvent<E extends Encoding = 'utf8'> =
  | { readonly type: 'stdout' | 'stderr'; readonly data: Data<E> }
  | ({ readonly type: 'exit' } & CamelCase<ReturnType<typeof endToWire>>)

/** A listening TCP port of a workspace. */
export type Port = CamelCase<Static<typeof portSchema>>

/** A workspace of a server. */
export class Workspace {
  readonly name: string
  /** Files of the workspace. */
  readonly files: WorkspaceFiles
  /** Interpreters of the workspace. */
  readonly code: WorkspaceCode
  readonly #transport: Transport
  readonly #path: string
  #info: WorkspaceInfo

  constructor(transport: Transport, info: WorkspaceInfo) {
    this.name = info.name
    this.#transport = transport
    this.#path = pathOf(info.name)
    this.#info = info
    this.files = new WorkspaceFiles(transport, this.#path)
    this.code = new WorkspaceCode(transport, this.#path)
  }

  /** State at the last request that returned it; `refresh` updates it. */
  get info(): WorkspaceInfo {
    return this.#info
  }

  /** Requests the current state. */
  refresh(options: RequestOptions = {}): Promise<WorkspaceInfo> {
    return this.#update('GET', '', options)
  }

  /** Starts the workspace; a suspended one continues its programs. */
  start(options: RequestOptions = {}): Promise<WorkspaceInfo> {
    return this.#update('POST', '/start', options)
  }

  /** Stops the workspace and keeps its files. */
  stop(options: RequestOptions = {}): Promise<WorkspaceInfo> {
    return this.#update('POST', '/stop', options)
  }

  /** Saves the memory of a running virtual machine and stops it. */
  suspend(options: RequestOptions = {}): Promise<WorkspaceInfo> {
    return this.#update('POST', '/suspend', options)
  }

  /** Resets a stopped virtual machine to its image. */
  reset(options: RequestOptions = {}): Promise<WorkspaceInfo> {
    return this.#update('POST', '/reset', options)
  }

  /** Changes settings; null restores a default, or removes a label. */
  set({ signal, ...body }: SettingsOptions): Promise<WorkspaceInfo> {
    return this.#update('PATCH', '', { body, signal })
  }

  /** Deletes the workspace; `keepVolume` keeps its files for the next one with the same name. */
  async delete({
    keepVolume,
    signal,
  }: RequestOptions & { readonly keepVolume?: boolean } = {}): Promise<void> {
    await this.#transport.ask('DELETE', this.#path, { query: { keepVolume }, signal })
  }

  /** Renames the stopped virtual machine. Returns it under its new name; this object keeps the old one. */
  async rename(name: string, { signal }: RequestOptions = {}): Promise<Workspace> {
    const info = await this.#transport.ask<WorkspaceInfo>('POST', `${this.#path}/rename`, {
      body: { name },
      signal,
    })
    return new Workspace(this.#transport, info)
  }

  /** Creates workspaces with its files and settings, and with its programs where that is possible. */
  async fork({ signal, ...body }: ForkOptions = {}): Promise<Forks> {
    const forked = await this.#transport.ask<CamelCase<WireForked>>('POST', `${this.#path}/fork`, {
      body,
      signal,
    })
    return { ...forked, workspaces: forked.workspaces.map((info) => new Workspace(this.#transport, info)) }
  }

  /** Keeps the current files, without memory, so that a rewind can put them back. */
  checkpoint({
    label,
    signal,
  }: RequestOptions & { readonly label?: string | undefined } = {}): Promise<Checkpoint> {
    return this.#transport.ask('POST', `${this.#path}/checkpoints`, { body: { label }, signal })
  }

  /** Lists checkpoints, oldest first. */
  async checkpoints(options: RequestOptions = {}): Promise<readonly Checkpoint[]> {
    const path = `${this.#path}/checkpoints`
    return (await this.#transport.ask<{ checkpoints: Checkpoint[] }>('GET', path, options)).checkpoints
  }

  /** Deletes the checkpoint with an id. */
  async deleteCheckpoint(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.ask('DELETE', `${this.#path}/checkpoints/${encodeURIComponent(id)}`, options)
  }

  /**
   * Puts back the files of a checkpoint: the one with an id, or with a duration such as `10m` the newest that is at least that
   * old. Its programs end. Returns a checkpoint of the files before, which undoes the rewind.
   */
  async rewind(to: string, { signal }: RequestOptions = {}): Promise<Checkpoint> {
    const request = { body: { to }, signal }
    const rewound = await this.#transport.ask<CamelCase<WireRewound>>('POST', `${this.#path}/rewind`, request)
    this.#info = rewound.workspace
    return rewound.before
  }

  /** Exports the running workspace as an archive, in pieces. It is complete when the iteration ends without an error. */
  export(options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, void> {
    return this.#transport.downloadPieces(`${this.#path}/export`, options)
  }

  /** Runs a program to its end and returns its output. Aborting the signal hangs it up. */
  async exec<E extends Encoding = 'utf8'>(
    program: Program,
    { signal, encoding, ...options }: ExecOptions<E> = {},
  ): Promise<ExecResult<E>> {
    const body = { ...bodyOf(program), ...options, encoding: wireEncoding(encoding) }
    const request = { body, signal }
    const result = await this.#transport.ask<ExecResult>('POST', `${this.#path}/exec`, request)
    const { stdout, stderr } = result
    return { ...result, stdout: decoded(stdout, encoding), stderr: decoded(stderr, encoding) }
  }

  /**
   * Runs a program and yields its output as it arrives, then how it ended. The program waits for a slow reader. Ending
   * the iteration hangs it up.
   */
  async *execStream<E extends Encoding = 'utf8'>(
    program: Program,
    { signal, encoding, ...options }: Omit<ExecOptions<E>, 'maxOutputBytes'> = {},
  ): AsyncGenerator<ExecEvent<E>, void, void> {
    const body = { ...bodyOf(program), ...options, encoding: wireEncoding(encoding) }
    for await (const event of this.#transport.events('POST', `${this.#path}/exec`, { body, signal })) {
      const read = execEvent<E>(event, encoding)
      if (read === undefined) continue
      yield read
      if (read.type === 'exit') return
    }
    throw new ConnectionError(`the connection to the program in workspace "${this.name}" was lost`)
  }

  /** Starts a program in the background. */
  async spawn(program: Program, { signal, ...options }: SpawnOptions = {}): Promise<WorkspaceProcess> {
    const request = { body: { ...bodyOf(program), ...options }, signal }
    const { id } = await this.#transport.ask<ProcessInfo>('POST', `${this.#path}/processes`, request)
    return this.process(id)
  }

  /** Returns the background process with an id, without a request. */
  process(id: string): WorkspaceProcess {
    return new WorkspaceProcess(this.#transport, this.#path, id)
  }

  /** Lists background processes, oldest first. */
  async processes(options: RequestOptions = {}): Promise<readonly ProcessInfo[]> {
    const path = `${this.#path}/processes`
    return (await this.#transport.ask<{ processes: ProcessInfo[] }>('GET', path, options)).processes
  }

  /** Lists listening TCP ports. */
  async ports(options: RequestOptions = {}): Promise<readonly Port[]> {
    return (await this.#transport.ask<{ ports: Port[] }>('GET', `${this.#path}/ports`, options)).ports
  }

  /**
   * Resolves when a program listens on a port.
   *
   * @throws WaitTimeoutError when none does within `timeoutMs`, by default 30 s
   */
  async waitForPort(
    port: number,
    { signal, ...query }: RequestOptions & CamelCase<Static<typeof waitQuerySchema>> = {},
  ): Promise<Port> {
    try {
      return await this.#transport.ask('GET', `${this.#path}/ports/${port}/wait`, { query, signal })
    } catch (error) {
      const isLate = error instanceof WorkspaceError && error.code === CLIENT_CODES.timedOut
      throw isLate ? new WaitTimeoutError(error.message) : error
    }
  }

  /**
   * Returns a URL that opens a port in a browser. If the server requires a token, it is valid once, for 30 s; with `validS`, any number
   * of times for so many seconds.
   */
  async previewUrl(
    port: number,
    { signal, validS }: RequestOptions & { readonly validS?: number } = {},
  ): Promise<string> {
    const request = { body: { for: 'port', port, valid_s: validS }, signal }
    return (await this.#transport.ask<{ url: string }>('POST', `${this.#path}/passes`, request)).url
  }

  async #update(method: string, action: string, options: Request): Promise<WorkspaceInfo> {
    this.#info = await this.#transport.ask(method, this.#path + action, options)
    return this.#info
  }
}

/** Returns the API path of a workspace. */
export function pathOf(name: string): string {
  return `/api/workspaces/${encodeURIComponent(name)}`
}

function bodyOf(program: Program): { readonly command: string } | { readonly argv: readonly string[] } {
  return typeof program === 'string' ? { command: program } : { argv: program }
}

function wireEncoding(encoding: Encoding | undefined): 'utf8' | 'base64' {
  return encoding === 'bytes' ? 'base64' : 'utf8'
}

function execEvent<E extends Encoding>(
  { event, data }: StreamEvent,
  encoding: E | undefined,
): ExecEvent<E> | undefined {
  if (event === 'exit') return { type: event, ...(data as CamelCase<ReturnType<typeof endToWire>>) }
  // A later version of the server may have more events.
  if (event !== 'stdout' && event !== 'stderr') return undefined
  return { type: event, data: decoded((data as { text: string }).text, encoding) }
}

function decoded<E extends Encoding>(text: string, encoding: E | undefined): Data<E> {
  return (encoding === 'bytes' ? Buffer.from(text, 'base64') : text) as Data<E>
}
