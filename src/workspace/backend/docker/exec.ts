import type { ExecProcess, ExecRequest } from '../backend.ts'
import { engineName } from './container.ts'
import { execDirectly } from './direct-exec.ts'
import type { DockerEngine } from './engine.ts'
import { execByEngine } from './engine-exec.ts'
import type { InsideDirs } from './inside-dirs.ts'

/**
 * Runs programs inside containers: directly where that can be done, else over the engine's stream, which serves
 * everywhere and is slower. Programs in terminals always have the engine's.
 */
export class ProgramStarter {
  readonly #engine: DockerEngine
  readonly #dirs: InsideDirs | undefined
  /** Workspaces in which no program could be run directly, so that it is not tried each time. */
  readonly #indirect = new Set<string>()

  constructor(engine: DockerEngine, dirs: InsideDirs | undefined) {
    this.#engine = engine
    this.#dirs = dirs
  }

  /** Whether the next program there would be run directly, as far as is known. */
  isDirect(name: string): boolean {
    return this.#dirs !== undefined && !this.#indirect.has(engineName(name)) && this.#dirs.has(name)
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    const container = engineName(name)
    if (this.#dirs !== undefined && request.terminal === undefined && this.isDirect(name)) {
      const process = await execDirectly(this.#engine, container, this.#dirs.pathOf(name), request)
      if (process !== undefined) return process
      this.#indirect.add(container)
    }
    return execByEngine(this.#engine, container, request)
  }

  /** Something happened to the container: it may be another one now. */
  forget(name: string): void {
    this.#indirect.delete(engineName(name))
  }
}
