import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { run } from '../../lib/process/run.ts'
import { fault } from '../errors.ts'
import { WorkspaceClient } from '../client/client.ts'
import type { RunningServer, ServerCommand, StartServer } from './server-process.ts'

/** Room for many workspaces, and filled in a moment. */
const DISK_BYTES = 64 * 2 ** 20
const START_LIMIT_MS = 60_000
const BLOCK = Buffer.alloc(64 * 1024)

/** Parts of the server of a run. */
export interface PrivateServerParts {
  /** Directory that belongs to the run. */
  readonly directory: string
  /** Entry file of the program `workspace`. */
  readonly entry: string
  readonly settings: Readonly<Record<string, unknown>>
  readonly environment: NodeJS.ProcessEnv
  readonly start: StartServer
  /** Whether the state directory gets a separate file system, which can be filled. */
  readonly hasSeparateDisk: boolean
}

/** The server of a run: the installed program with a separate state directory, which can be killed and started again. */
export class PrivateServer {
  readonly stateDir: string
  readonly logFile: string
  /** Why its disk cannot be filled; undefined if it can. */
  readonly whyNoDisk: string | undefined
  readonly #command: ServerCommand
  readonly #start: StartServer
  #running: RunningServer | undefined

  private constructor(command: ServerCommand, start: StartServer, whyNoDisk: string | undefined) {
    this.stateDir = command.stateDir
    this.logFile = command.logFile
    this.whyNoDisk = whyNoDisk
    this.#command = command
    this.#start = start
  }

  /** Prepares the server without starting it. */
  static async prepare({
    directory,
    entry,
    settings,
    environment,
    start,
    hasSeparateDisk,
  }: PrivateServerParts): Promise<PrivateServer> {
    const stateDir = join(directory, 'state')
    const configFile = join(directory, 'config.yaml')
    await mkdir(stateDir, { mode: 0o700 })
    // JSON is YAML.
    await writeFile(configFile, JSON.stringify(settings), { mode: 0o600 })
    const logFile = join(directory, 'server.log')
    const whyNoDisk = hasSeparateDisk ? await mountDisk(stateDir) : 'it was not requested'
    return new PrivateServer({ entry, configFile, stateDir, logFile, environment }, start, whyNoDisk)
  }

  /** The process that runs now, if any. */
  get process(): RunningServer | undefined {
    return this.#running
  }

  /** The process that runs now. @throws BACKEND_UNAVAILABLE when none does */
  get running(): RunningServer {
    if (this.#running === undefined)
      throw fault('BACKEND_UNAVAILABLE', `the server of the run is not running; its log is ${this.logFile}`)
    return this.#running
  }

  /**
   * Starts it and waits until it is ready.
   *
   * @param killFirstAfterMs when to kill a first attempt, ready or not
   * @throws BACKEND_UNAVAILABLE when it exits or is not ready in time
   */
  async start(killFirstAfterMs?: number): Promise<void> {
    if (killFirstAfterMs !== undefined) {
      const first = await this.#attempt(killFirstAfterMs).catch(
        ignore('it may be killed before it is ready; the next attempt reports a failure'),
      )
      await first?.kill()
    }
    const running = await this.#attempt(START_LIMIT_MS)
    this.#running = running
    // Its ports may then be those of another program.
    running.onExit(() => {
      if (this.#running === running) this.#running = undefined
    })
  }

  async #attempt(limitMs: number): Promise<RunningServer> {
    const starting = this.#start(this.#command)
    const timer = setTimeout(() => void starting.kill(), limitMs)
    try {
      return await starting.ready
    } finally {
      clearTimeout(timer)
    }
  }

  /** Kills it if it runs. */
  async kill(): Promise<void> {
    await this.#running?.kill()
  }

  /** Returns the id that marks its objects in the engine. */
  async serverId(): Promise<string> {
    return (await readFile(join(this.stateDir, 'server-id'), 'utf8')).trim()
  }

  /** Returns the SSH host key that it reports. */
  async hostKey(): Promise<string> {
    const url = `http://127.0.0.1:${this.running.httpPort}`
    const client = new WorkspaceClient({ name: 'torture', url })
    return (await client.get<{ readonly host_key: string }>('/api/ssh-host-key')).host_key
  }

  /** Fills its disk; returns a function that frees it again. */
  fillDisk(): () => void {
    const path = join(this.stateDir, 'filler')
    const file = openSync(path, 'wx', 0o600)
    try {
      while (statfsSync(this.stateDir).bavail > 0) writeSync(file, BLOCK)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      closeSync(file)
    }
    return () => rmSync(path)
  }

  /** Unmounts its disk. Returns the command that does so when this fails. */
  async unmountDisk(): Promise<string | undefined> {
    if (this.whyNoDisk !== undefined) return undefined
    const { status } = await run('umount', [this.stateDir])
    return status === 0 ? undefined : `umount -l ${this.stateDir}`
  }
}

/** Mounts a small file system; returns why it cannot be mounted, or undefined. */
async function mountDisk(path: string): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'a small disk can be mounted only by root on Linux'
  try {
    const options = `size=${DISK_BYTES},mode=700`
    const { status, stderr } = await run('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path])
    return status === 0 ? undefined : `a small disk cannot be mounted: ${stderr.trim()}`
  } catch (error) {
    return `a small disk cannot be mounted: ${messageOf(error)}`
  }
}
