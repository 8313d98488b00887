import { LONGEST_DELAY_MS } from '../../lib/clock/clock.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import type { Backend, ExecProcess, ExitStatus } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import { type Program, startProgram } from './program.ts'
import { followOutput, KILLED, type OutputName, sendSignal } from './run-program.ts'

/** Running programs per workspace, with those that are being started. */
const MAX_PER_WORKSPACE = 64

/** A program that clients can follow. */
export interface LiveProgramRequest extends Program {
  /** A name that clients can find it by. */
  readonly tag: string | undefined
  /** Whether clients may write to its standard input, which is empty otherwise. */
  readonly readsInput: boolean
  /** The program is killed after this time; undefined for no limit. */
  readonly timeoutMs: number | undefined
}

/** How a program is found: by its number or its tag. */
export type ProgramSelector =
  { readonly by: 'id'; readonly id: number } | { readonly by: 'tag'; readonly tag: string }

/** How a program ended. */
export interface LiveProgramEnd extends ExitStatus {
  readonly hasTimedOut: boolean
}

/** A reader of a program's output. */
export interface ProgramFollower {
  /** Receives output; a promise holds up the program, and with it all other readers. */
  readonly onOutput: (name: OutputName, chunk: Buffer) => Promise<void> | undefined
  readonly onEnd: (end: LiveProgramEnd) => void
}

/** A running program. */
export interface LiveProgram extends LiveProgramRequest {
  /** Its number in this server; the workspace's own process ids are not known. */
  readonly id: number
}

interface Entry extends LiveProgram {
  readonly process: ExecProcess
  readonly followers: Set<ProgramFollower>
  hasTimedOut: boolean
}

/**
 * Programs that run on when their client disconnects, and whose output goes to the clients that are connected at the
 * time: nothing is kept. A client that reads slowly holds the program up; without any client its output is discarded.
 */
export class LivePrograms {
  readonly #entries = new Map<string, Map<number, Entry>>()
  readonly #starting = new Map<string, number>()
  #lastId = 0

  constructor(table: WorkspaceTable) {
    table.onChange((change) => {
      if (change.type === 'deleted') this.#entries.delete(nameKey(change.name))
    })
  }

  /**
   * Starts a program with its first reader, who misses nothing.
   *
   * @throws TOO_MANY_PROCESSES when the workspace has no place left
   */
  async start(
    backend: Backend,
    workspaceName: string,
    request: LiveProgramRequest,
    follow: (program: LiveProgram) => ProgramFollower,
  ): Promise<void> {
    const key = nameKey(workspaceName)
    const count = (this.#entries.get(key)?.size ?? 0) + (this.#starting.get(key) ?? 0)
    if (count >= MAX_PER_WORKSPACE)
      throw fault(
        'TOO_MANY_PROCESSES',
        `workspace "${workspaceName}" has ${MAX_PER_WORKSPACE} running programs, which is the limit; end one`,
      )
    this.#starting.set(key, (this.#starting.get(key) ?? 0) + 1)
    try {
      const process = await startProgram(backend, workspaceName, request)
      this.#add(key, process, request, follow)
    } finally {
      const left = (this.#starting.get(key) ?? 1) - 1
      if (left > 0) this.#starting.set(key, left)
      else this.#starting.delete(key)
    }
  }

  /** Lists a workspace's running programs, oldest first. */
  list(workspaceName: string): readonly LiveProgram[] {
    return [...(this.#entries.get(nameKey(workspaceName))?.values() ?? [])]
  }

  /** @throws PROCESS_NOT_FOUND when no such program runs */
  get(workspaceName: string, selector: ProgramSelector): LiveProgram {
    return this.#get(workspaceName, selector)
  }

  /** Adds a reader of a program's output. @throws PROCESS_NOT_FOUND */
  follow(workspaceName: string, id: number, follower: ProgramFollower): void {
    this.#get(workspaceName, { by: 'id', id }).followers.add(follower)
  }

  /** Removes a reader of a program's output, if the program still runs. */
  unfollow(workspaceName: string, id: number, follower: ProgramFollower): void {
    this.#entries.get(nameKey(workspaceName))?.get(id)?.followers.delete(follower)
  }

  /** Signals the program and its children. @throws PROCESS_NOT_FOUND */
  async signal(workspaceName: string, selector: ProgramSelector, signal: NodeJS.Signals): Promise<void> {
    await sendSignal(this.#get(workspaceName, selector).process, signal)
  }

  /**
   * Writes to the program's input; resolves once it has been accepted, so that writers wait for readers.
   *
   * @throws PROCESS_NOT_FOUND when no such program runs
   * @throws PROCESS_ENDED when it no longer reads input
   */
  async write(workspaceName: string, selector: ProgramSelector, bytes: Buffer): Promise<void> {
    const { process, id } = this.#get(workspaceName, selector)
    const closed = (cause?: unknown) =>
      fault('PROCESS_ENDED', `program ${id} does not read input: start it with stdin enabled`, cause)
    if (!process.stdin.writable) throw closed()
    await new Promise<void>((resolve, reject) => {
      process.stdin.write(bytes, (error) => (error ? reject(closed(error)) : resolve()))
    })
  }

  /** Ends the program's input. @throws PROCESS_NOT_FOUND */
  endInput(workspaceName: string, selector: ProgramSelector): void {
    this.#get(workspaceName, selector).process.stdin.end()
  }

  /** Changes the size of the program's terminal. @throws PROCESS_NOT_FOUND */
  resize(workspaceName: string, selector: ProgramSelector, columns: number, rows: number): void {
    this.#get(workspaceName, selector).process.resize(columns, rows)
  }

  /** Hangs up all programs, so that none continues without a server. */
  async close(): Promise<void> {
    const running = [...this.#entries.values()].flatMap((each) => [...each.values()])
    await Promise.allSettled(running.map(({ process }) => process.hangUp()))
  }

  #add(
    key: string,
    process: ExecProcess,
    request: LiveProgramRequest,
    follow: (program: LiveProgram) => ProgramFollower,
  ): void {
    const id = ++this.#lastId
    const followers = new Set<ProgramFollower>()
    const entry: Entry = { ...request, id, process, followers, hasTimedOut: false }
    followers.add(follow(entry))
    const entries = this.#entries.get(key) ?? new Map<number, Entry>()
    this.#entries.set(key, entries.set(id, entry))
    process.stdin.on('error', () => undefined)
    if (!request.readsInput) process.stdin.end()
    const limit = request.timeoutMs === undefined ? undefined : killAfter(entry, request.timeoutMs)
    const finish = (exit: ExitStatus): void => {
      clearTimeout(limit)
      entries.delete(id)
      for (const each of followers) each.onEnd({ ...exit, hasTimedOut: entry.hasTimedOut })
    }
    followOutput(process, (name, chunk) => passOn(followers, name, chunk)).then(
      finish,
      // The connection to the workspace was lost: it usually stopped, which killed the program.
      () => finish(KILLED),
    )
  }

  #get(workspaceName: string, selector: ProgramSelector): Entry {
    const entries = this.#entries.get(nameKey(workspaceName))
    const entry =
      selector.by === 'id'
        ? entries?.get(selector.id)
        : [...(entries?.values() ?? [])].find(({ tag }) => tag === selector.tag)
    if (entry !== undefined) return entry
    const shown = selector.by === 'id' ? `number ${selector.id}` : `tag ${JSON.stringify(selector.tag)}`
    throw fault('PROCESS_NOT_FOUND', `workspace "${workspaceName}" runs no program with ${shown}`)
  }
}

function killAfter(entry: Entry, timeoutMs: number): NodeJS.Timeout {
  const kill = (): void => {
    entry.hasTimedOut = true
    sendSignal(entry.process, 'SIGKILL').catch(ignore('it may have exited'))
  }
  return setTimeout(kill, Math.min(timeoutMs, LONGEST_DELAY_MS)).unref()
}

/** Passes output to all readers; returns a promise while any of them has no room. */
function passOn(
  followers: ReadonlySet<ProgramFollower>,
  name: OutputName,
  chunk: Buffer,
): Promise<void> | undefined {
  const waits = [...followers].flatMap((each) => each.onOutput(name, chunk) ?? [])
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined)
}
