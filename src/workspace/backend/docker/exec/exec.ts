import { ignore } from '../../../../lib/errors/ignore.ts'
import type { ExecProcess, ExecRequest } from '../../backend.ts'
import { engineName } from '../engine/labels.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { execByEngine } from './engine-exec.ts'
import type { MountedSocketDirs } from './mounted-socket-dirs.ts'
import { encodeRequest, Launcher, type LauncherRequest } from './launcher.ts'
import { RunnerSocket } from './runner-socket.ts'

/**
 * Runs programs inside containers: directly where possible, else over the engine's stream, which works
 * everywhere but is slower. Programs in terminals always use the engine's stream.
 */
export class ProgramStarter {
  readonly #engine: DockerEngine
  readonly #dirs: MountedSocketDirs | undefined
  readonly #runnerSockets = new Map<string, Promise<RunnerSocket>>()
  /** Launchers by container and user. */
  readonly #launchers = new Map<string, Promise<Launcher | undefined>>()
  /** Containers in which direct starts failed, so that they are not tried every time. */
  readonly #indirect = new Set<string>()

  constructor(engine: DockerEngine, dirs: MountedSocketDirs | undefined) {
    this.#engine = engine
    this.#dirs = dirs
  }

  /** Whether the next program is expected to start directly. */
  isDirect(name: string): boolean {
    return this.#dirs !== undefined && !this.#indirect.has(engineName(name)) && this.#dirs.has(name)
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const container = engineName(name)
    const runnerSocket = request.terminal === undefined ? await this.#runnerSocketOf(name) : undefined
    const encoded = runnerSocket === undefined ? undefined : encodeRequest(request)
    return (
      (runnerSocket === undefined || encoded === undefined
        ? undefined
        : await this.#launch(container, runnerSocket, request.user, encoded)) ??
      execByEngine(this.#engine, container, request)
    )
  }

  /** Drops the cached state of a container that has changed: it may have been replaced or removed. */
  forget(name: string): void {
    const container = engineName(name)
    this.#indirect.delete(container)
    for (const [key, launcher] of this.#launchers)
      if (key.startsWith(`${container} `)) this.#drop(key, launcher)
  }

  async close(): Promise<void> {
    for (const [key, launcher] of this.#launchers) this.#drop(key, launcher)
    for (const runnerSocket of this.#runnerSockets.values())
      await runnerSocket.then((each) => each.close(), ignore('its opener falls back'))
    this.#runnerSockets.clear()
  }

  /**
   * Starts a program through a launcher. Resolves to undefined when that is not possible; the program was not
   * started then.
   */
  async #launch(
    container: string,
    runnerSocket: RunnerSocket,
    user: string | undefined,
    request: LauncherRequest,
  ): Promise<ExecProcess | undefined> {
    const key = `${container} ${user ?? ''}`
    const existing = this.#launchers.get(key)
    const process = await (await existing)?.run(request)
    if (process !== undefined) return process
    // The launcher is missing, exited, hangs, or predates a change of users and groups. A new one has none of
    // these problems.
    if (existing !== undefined) this.#drop(key, existing)
    const starting = this.#launchers.get(key) ?? Launcher.start(this.#engine, container, runnerSocket, user)
    this.#launchers.set(key, starting)
    try {
      const launcher = await starting
      if (launcher === undefined) this.#indirect.add(container)
      void launcher?.closed.then(() => this.#drop(key, starting))
      const started = await launcher?.run(request)
      if (started === undefined) this.#drop(key, starting)
      return started
    } catch (error) {
      this.#drop(key, starting)
      throw error
    }
  }

  #drop(key: string, launcher: Promise<Launcher | undefined>): void {
    if (this.#launchers.get(key) === launcher) this.#launchers.delete(key)
    launcher.then((each) => each?.close()).catch(ignore('it did not start, and its callers fall back'))
  }

  /** Returns the socket at which this process accepts the workspace's runners, creating it when missing. */
  async #runnerSocketOf(name: string): Promise<RunnerSocket | undefined> {
    if (this.#dirs === undefined || !this.isDirect(name)) return undefined
    const key = engineName(name)
    const existing = this.#runnerSockets.get(key)
    try {
      const runnerSocket = await existing
      if (runnerSocket?.exists === true) return runnerSocket
      runnerSocket?.close()
      // When several callers find the socket missing, the first one creates its replacement.
      if (this.#runnerSockets.get(key) === existing) {
        this.#runnerSockets.set(key, RunnerSocket.open(this.#dirs, name))
        // Not awaited: the sockets of other workspaces do not matter here.
        void this.#closeDeleted()
      }
      return await this.#runnerSockets.get(key)
    } catch {
      this.#runnerSockets.delete(key)
      return undefined
    }
  }

  /**
   * Closes the sockets of deleted workspaces. No event arrives in time, because their directories are removed
   * last.
   */
  async #closeDeleted(): Promise<void> {
    for (const [key, opening] of this.#runnerSockets) {
      const runnerSocket = await opening.catch(ignore('its opener falls back'))
      if (runnerSocket === undefined || runnerSocket.exists || this.#runnerSockets.get(key) !== opening)
        continue
      runnerSocket.close()
      this.#runnerSockets.delete(key)
    }
  }
}
