import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from '../../../lib/log/logger.ts'
import { makeDirs } from '../../../lib/fs/make-dirs.ts'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { unpackError } from '../../../lib/pool/portable-error.ts'
import {
  type Confinement,
  ConfinedPlaces,
  forkConfined,
  confined,
  confinedEnvironment,
} from '../../../lib/sandbox/confine.ts'
import { siblingModule } from '../../../lib/process/sibling.ts'
import { fault } from '../../errors.ts'
import {
  type Decompiled,
  type DecompileCommand,
  type DecompileReport,
  type DecompileSettings,
  type DecompileTask,
  type VineflowerCommand,
  VINEFLOWER_OPTIONS,
} from './decompile-protocol.ts'
import { run } from '../../../lib/process/run.ts'
import { vineflowerConfinement } from '../../confinement.ts'
import { INPUT_ARCHIVE, OUTPUT_ARCHIVE } from './vineflower-archives.ts'

/** Options of the decompiler. */
export interface DecompilerOptions {
  /** Limit of the JavaScript heap, which includes WebAssembly's objects. */
  readonly memoryMb: number
  /** Timeout for one class with its nested classes. */
  readonly timeoutMs: number
  readonly logger: Logger
}

/** The process exits after so long without a request. */
const IDLE_MS = 60_000

type Locate = (name: string) => string | undefined

/** Settings and confinement of the process. */
export interface DecompilerStart extends DecompileSettings {
  readonly confinement: Confinement
}

interface Child {
  readonly process: ChildProcess
  readonly release: number
  readonly places: ConfinedPlaces
}

const CHILD = fileURLToPath(siblingModule(import.meta.url, './decompile-child'))

/** Starts the decompiler's process, which runs `module`. */
export function startDecompiler(
  { release, confinement }: DecompilerStart,
  memoryMb: number,
  module: string = CHILD,
): ChildProcess {
  return forkConfined(module, [JSON.stringify({ release } satisfies DecompileSettings)], confinement, {
    execArgv: [`--max-old-space-size=${memoryMb}`],
    serialization: 'advanced',
    // Standard output is reserved for the server's ready line.
    stdio: ['ignore', 2, 2, 'ipc'],
  })
}

/** Decompiles one class at a time in a separate process, which is killed on timeout. */
export class Decompiler {
  readonly #options: DecompilerOptions
  #child: Child | undefined
  #turn: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(options: DecompilerOptions) {
    this.#options = options
  }

  /**
   * Decompiles a class.
   *
   * @param locate returns the location of a class by its internal name
   * @throws DECOMPILATION_FAILED, DECOMPILATION_TIMEOUT
   */
  run(task: DecompileTask, start: DecompilerStart, locate: Locate): Promise<Decompiled> {
    const turn = this.#turn.then(() => this.#run(task, start, locate))
    this.#turn = turn.catch(ignore('the caller of the turn gets it'))
    return turn
  }

  close(): void {
    this.#isClosed = true
    this.#end()
  }

  async #run(task: DecompileTask, start: DecompilerStart, locate: Locate): Promise<Decompiled> {
    if (this.#isClosed) throw fault('DECOMPILATION_FAILED', 'the server is stopping')
    clearTimeout(this.#idle)
    makeDirs(task.cacheDir, 0o700)
    const child = this.#ready(start)
    const { vineflower } = task
    const folder = vineflower === undefined ? undefined : mkdtempSync(join(task.cacheDir, 'jvm-'))
    const stopped = new AbortController()
    const { timeoutMs } = this.#options
    const named = task.outermost.replaceAll('/', '.')
    const id = ++this.#lastId
    const end = Promise.withResolvers<Decompiled>()
    // The JVM has its own timeout.
    const limitMs = timeoutMs + (task.vineflower === undefined ? 0 : 5_000)
    const timer = setTimeout(() => {
      end.reject(
        fault(
          'DECOMPILATION_TIMEOUT',
          `${named} could not be decompiled within ${timeoutMs / 1_000} s; increase source.time_limit, or use format=stub, which does not decompile`,
        ),
      )
      this.#end()
    }, limitMs)
    const onMessage = (report: DecompileReport): void => {
      if (report.is === 'asking') {
        const located: DecompileCommand = {
          do: 'located',
          request: report.request,
          location: locate(report.name),
        }
        child.send(located, () => undefined)
      } else if (report.is === 'prepared') {
        if (vineflower !== undefined && folder !== undefined)
          void runJvm(child, report.request, vineflower, folder, stopped.signal)
      } else if (report.id === id && report.is === 'done') end.resolve(report.result)
      else if (report.id === id && report.is === 'failed') {
        const error = unpackError(report.error)
        end.reject(fault('DECOMPILATION_FAILED', `${named} cannot be decompiled: ${error.message}`, error))
      }
    }
    const onExit = (status: number | null, signal: NodeJS.Signals | null): void => {
      const how = signal ?? `status ${status}`
      const sentence = `${named} cannot be decompiled: it crashed the decompiler (${how}), possibly by exceeding source.memory_limit`
      end.reject(fault('DECOMPILATION_FAILED', sentence))
    }
    child.on('message', onMessage).on('exit', onExit)
    try {
      const work = vineflower && folder !== undefined ? { jar: vineflower.jar, folder } : undefined
      const command: DecompileCommand = { do: 'decompile', id, task: { ...task, vineflower: work } }
      child.send(command, () => undefined)
      return await end.promise
    } finally {
      clearTimeout(timer)
      child.off('message', onMessage).off('exit', onExit)
      stopped.abort()
      if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
      this.#idle = setTimeout(() => this.#end(), IDLE_MS).unref()
    }
  }

  #ready(start: DecompilerStart): ChildProcess {
    const { release, confinement } = start
    if (this.#child?.release !== release || !this.#child.places.cover(confinement)) this.#end()
    this.#child ??= { process: this.#start(start), release, places: new ConfinedPlaces(confinement) }
    return this.#child.process
  }

  #start(start: DecompilerStart): ChildProcess {
    const { memoryMb, logger } = this.#options
    const child = startDecompiler(start, memoryMb)
    child.on('error', (error) => logger.warn({ err: error }, 'the decompiler could not be started'))
    child.once('exit', (status, signal) => {
      if (this.#child?.process === child) this.#child = undefined
      if (status !== 0 && !this.#isClosed)
        logger.info({ pid: child.pid, status, signal }, 'decompiler exited')
    })
    child.unref()
    child.channel?.unref()
    return child
  }

  #end(): void {
    clearTimeout(this.#idle)
    const child = this.#child?.process
    this.#child = undefined
    child?.kill('SIGKILL')
  }
}

/** Runs Vineflower for the child, which starts no programs, and reports the result to it. */
async function runJvm(
  child: ChildProcess,
  request: number,
  command: VineflowerCommand,
  folder: string,
  signal: AbortSignal,
): Promise<void> {
  const problem = await runVineflower(command, folder, signal).catch(messageOf)
  const ran: DecompileCommand = { do: 'ran', request, problem }
  child.send(ran, () => undefined)
}

/**
 * Decompiles one archive in a folder into another with Vineflower on a JVM that can access only that folder.
 * Class files and text are exchanged in archives, so that no name in a class file becomes a path.
 *
 * @returns the reason if there is no text, or undefined on success
 * @throws the system's error when the JVM cannot be started
 */
async function runVineflower(
  { home, jar, memoryMb, timeoutMs }: VineflowerCommand,
  folder: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const options = Object.entries(VINEFLOWER_OPTIONS).map(([name, value]) => `--${name}=${value}`)
  const [given, out] = [join(folder, INPUT_ARCHIVE), join(folder, OUTPUT_ARCHIVE)]
  // Performance counters would be in a shared folder that it cannot access.
  const jvm = [`-Xmx${memoryMb}m`, '-XX:-UsePerfData', `-Djava.io.tmpdir=${folder}`]
  const argv = [...jvm, '-jar', jar, '--silent', ...options, given, out]
  const limits = { memoryLimitBytes: memoryMb * 2 ** 20, timeLimitMs: timeoutMs }
  const confinement = vineflowerConfinement({ home, jar }, folder, limits)
  const [command, ...rest] = confined(join(home, 'bin/java'), argv, confinement)
  const environment = confinedEnvironment()
  const { status, stderr } = await run(command, rest, { timeoutMs, signal, cwd: folder, environment })
  if (status === null) return `Vineflower took longer than ${timeoutMs / 1_000} s or exceeded its limits`
  return status === 0 ? undefined : `Vineflower exited with status ${status}: ${stderr.trim().slice(0, 500)}`
}
