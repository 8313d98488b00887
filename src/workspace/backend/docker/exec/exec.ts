import type { ExecProcess, ExecRequest } from '../../backend.ts'
import { engineName } from '../engine/labels.ts'
import type { DockerEngine } from '../engine/engine.ts'
import { execByEngine } from './engine-exec.ts'
import type { InsideDirs } from './inside-dirs.ts'
import { encodeRequest, Launcher, type LauncherRequest } from './launcher.ts'
import { MeetingPoint } from './meeting-point.ts'

/**
 * Runs programs inside containers: directly where possible, else over the engine's stream, which works
 * everywhere but is slower. Programs in terminals always use the engine's stream.
 */
export class ProgramStarter {
  readonly #engine: DockerEngine
  readonly #dirs: InsideDirs | undefined
  readonly #points = new Map<string, Promise<MeetingPoint>>()
  /** Launchers by container and user. */
  readonly #launchers = new Map<string, Promise<Launcher | undefined>>()
  /** Containers in which direct starts failed, so that they are not tried every time. */
  readonly #indirect = new Set<string>()

  constructor(engine: DockerEngine, dirs: InsideDirs | undefined) {
    this.#engine = engine
    this.#dirs = dirs
  }

  /** Whether the next program is expected to start directly. */
  isDirect(name: string): boolean {
    return this.#dirs !== undefined && !this.#indirect.has(engineName(name)) && this.#dirs.has(name)
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const container = engineName(name)
    const point = request.terminal === undefined ? await this.#pointIn(name) : undefined
    const encoded = point === undefined ? undefined : encodeRequest(request)
    return (
      (point === undefined || encoded === undefined
        ? undefined
        : await this.#launch(container, point, request.user, encoded)) ??
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
    for (const point of this.#points.values())
      await point.then(
        (each) => each.close(),
        () => undefined,
      )
    this.#points.clear()
  }

  /**
   * Starts a program through a launcher. Resolves to undefined when that is not possible; the program was not
   * started then.
   */
  async #launch(
    container: string,
    point: MeetingPoint,
    user: string | undefined,
    request: LauncherRequest,
  ): Promise<ExecProcess | undefined> {
    const key = `${container} ${user ?? ''}`
    const known = this.#launchers.get(key)
    const process = await (await known)?.run(request)
    if (process !== undefined) return process
    // The launcher is missing, exited, hangs, or predates a change of users and groups. A new one has none of
    // these problems.
    if (known !== undefined) this.#drop(key, known)
    const starting = this.#launchers.get(key) ?? Launcher.start(this.#engine, container, point, user)
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
    launcher.then((each) => each?.close()).catch(() => undefined)
  }

  /** Returns the socket at which this process accepts the workspace's runners, creating it when missing. */
  async #pointIn(name: string): Promise<MeetingPoint | undefined> {
    if (this.#dirs === undefined || !this.isDirect(name)) return undefined
    const key = engineName(name)
    const known = this.#points.get(key)
    try {
      const point = await known
      if (point?.isThere === true) return point
      point?.close()
      // When several callers find the socket missing, the first one creates its replacement.
      if (this.#points.get(key) === known) {
        this.#points.set(key, MeetingPoint.open(this.#dirs, name))
        // Not awaited: the sockets of other workspaces do not matter here.
        void this.#closeGone()
      }
      return await this.#points.get(key)
    } catch {
      this.#points.delete(key)
      return undefined
    }
  }

  /**
   * Closes the sockets of deleted workspaces. No event arrives in time, because their directories are removed
   * last.
   */
  async #closeGone(): Promise<void> {
    for (const [key, opening] of this.#points) {
      const point = await opening.catch(() => undefined)
      if (point === undefined || point.isThere || this.#points.get(key) !== opening) continue
      point.close()
      this.#points.delete(key)
    }
  }
}
