import { randomBytes } from 'node:crypto'
import type { Clock } from '../../lib/clock/clock.ts'
import type { Backend, ExecProcess, ExitStatus } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import type { WorkspaceTable } from '../lifecycle/table.ts'
import { nameKey } from '../name.ts'
import { OutputLog } from './output-log.ts'
import { type Program, startProgram } from './program.ts'
import { followOutput, KILLED, sendSignal } from './run-program.ts'

/** Processes kept per workspace: each has up to a mebibyte of output. */
const MAX_PER_WORKSPACE = 32

/** A program that runs in a workspace independently of its client's connection. */
export interface BackgroundProcess {
  readonly id: string
  readonly command: Program['command']
  readonly startedAt: Date
  readonly output: OutputLog
  /** Undefined while it runs. */
  readonly end: (ExitStatus & { readonly at: Date }) | undefined
}

interface Entry extends BackgroundProcess {
  end: BackgroundProcess['end']
  readonly process: ExecProcess
}

/**
 * Programs that run in the background of workspaces. They are kept in memory and end with the server; a program
 * that must outlive it belongs into a tmux session.
 */
export class ProcessTable {
  readonly #clock: Clock
  readonly #entries = new Map<string, Map<string, Entry>>()
  /** Programs that are being started, which occupy a place. */
  readonly #starting = new Map<string, number>()

  constructor(table: WorkspaceTable, clock: Clock) {
    this.#clock = clock
    table.onChange((change) => {
      if (change.type === 'deleted') this.#entries.delete(nameKey(change.name))
    })
  }

  /**
   * Starts a program, forgetting the one that ended first if the workspace has no place left.
   *
   * @throws TOO_MANY_PROCESSES when all places are occupied by running programs
   */
  async start(backend: Backend, workspaceName: string, program: Program): Promise<BackgroundProcess> {
    const key = nameKey(workspaceName)
    this.#makeRoom(key, workspaceName)
    this.#starting.set(key, (this.#starting.get(key) ?? 0) + 1)
    try {
      const process = await startProgram(backend, workspaceName, program)
      return this.#follow(key, process, program)
    } finally {
      const left = (this.#starting.get(key) ?? 1) - 1
      if (left > 0) this.#starting.set(key, left)
      else this.#starting.delete(key)
    }
  }

  /** Lists a workspace's processes, oldest first. */
  list(workspaceName: string): readonly BackgroundProcess[] {
    return [...(this.#entries.get(nameKey(workspaceName))?.values() ?? [])]
  }

  /** Returns whether any process runs in a workspace or is being started. */
  isRunningIn(workspaceName: string): boolean {
    const isStarting = this.#starting.has(nameKey(workspaceName))
    return isStarting || this.list(workspaceName).some(({ end }) => end === undefined)
  }

  /** @throws PROCESS_NOT_FOUND when there is none with that id */
  get(workspaceName: string, id: string): BackgroundProcess {
    return this.#get(workspaceName, id)
  }

  /**
   * Signals the process and its children.
   *
   * @throws PROCESS_NOT_FOUND when there is none with that id
   * @throws PROCESS_ENDED when it has ended
   */
  async signal(workspaceName: string, id: string, signal: NodeJS.Signals): Promise<void> {
    await sendSignal(this.#getRunning(workspaceName, id).process, signal)
  }

  /**
   * Writes to the process' standard input; resolves once it has been accepted, so that writers wait for readers.
   *
   * @throws PROCESS_NOT_FOUND when there is none with that id
   * @throws PROCESS_ENDED when it has ended or closed its input
   */
  async write(workspaceName: string, id: string, text: string, isLast: boolean): Promise<void> {
    const { process } = this.#getRunning(workspaceName, id)
    const closed = (cause?: unknown) => fault('PROCESS_ENDED', `process "${id}" no longer reads input`, cause)
    if (!process.stdin.writable) throw closed()
    await new Promise<void>((resolve, reject) => {
      const done = (error?: Error | null): void => (error ? reject(closed(error)) : resolve())
      if (isLast) process.stdin.end(text, () => done(process.stdin.errored))
      else process.stdin.write(text, done)
    })
  }

  /** Hangs up all programs, so that none continues without a server. */
  async close(): Promise<void> {
    const running = [...this.#entries.values()].flatMap((each) => [...each.values()])
    await Promise.allSettled(
      running.filter(({ end }) => end === undefined).map(({ process }) => process.hangUp()),
    )
  }

  #makeRoom(key: string, workspaceName: string): void {
    const entries = this.#entries.get(key)
    const taken = (entries?.size ?? 0) + (this.#starting.get(key) ?? 0)
    if (taken < MAX_PER_WORKSPACE) return
    const ended = [...(entries?.values() ?? [])].filter(({ end }) => end !== undefined)
    const [oldest] = ended.toSorted((a, b) => Number(a.end?.at) - Number(b.end?.at))
    if (oldest === undefined)
      throw fault(
        'TOO_MANY_PROCESSES',
        `workspace "${workspaceName}" has ${MAX_PER_WORKSPACE} running background processes, which is the limit; end one`,
      )
    entries?.delete(oldest.id)
  }

  #follow(key: string, process: ExecProcess, { command }: Program): BackgroundProcess {
    const output = new OutputLog()
    const startedAt = new Date(this.#clock.wallMs())
    const entry: Entry = {
      id: randomBytes(8).toString('hex'),
      command,
      startedAt,
      output,
      end: undefined,
      process,
    }
    const entries = this.#entries.get(key) ?? new Map<string, Entry>()
    this.#entries.set(key, entries.set(entry.id, entry))
    process.stdin.on('error', () => undefined)
    const finish = (exit: ExitStatus): void => {
      entry.end = { ...exit, at: new Date(this.#clock.wallMs()) }
      output.close()
    }
    followOutput(process, (name, chunk) => {
      output.add(name, chunk)
    }).then(
      finish,
      // The connection to the workspace was lost: it usually stopped, which killed the program.
      () => finish(KILLED),
    )
    return entry
  }

  #getRunning(workspaceName: string, id: string): Entry {
    const entry = this.#get(workspaceName, id)
    if (entry.end === undefined) return entry
    throw fault('PROCESS_ENDED', `process "${id}" has ended`)
  }

  #get(workspaceName: string, id: string): Entry {
    const entry = this.#entries.get(nameKey(workspaceName))?.get(id)
    if (entry !== undefined) return entry
    throw fault(
      'PROCESS_NOT_FOUND',
      `workspace "${workspaceName}" has no process ${JSON.stringify(id.slice(0, 80))}`,
    )
  }
}
