import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { SMALL_MEMORY } from '../src/analyzer/faces/cli/small-memory.ts'
import type { ServerRecord } from '../src/analyzer/lifecycle/server-record.ts'
import { packageRoot } from '../src/lib/process/package.ts'

/** The command as installed. */
export const analyzerProgram = join(packageRoot, 'dist/src/bin/analyzer.js')

let isBuilt = false

/** Builds the package once per process, so that the shipped code is measured. */
export function buildPackage(): void {
  if (!isBuilt) execFileSync(join(packageRoot, 'scripts/build'), { stdio: ['ignore', 'ignore', 'inherit'] })
  isBuilt = true
}

/**
 * A user of the analyzer with separate folders and no JVM: a project then consists only of the classes and libraries in its folder.
 */
export class BenchUser {
  readonly home = mkdtempSync(join(tmpdir(), 'workspace-bench-'))
  readonly cacheDir = join(this.home, 'cache')
  readonly environment: NodeJS.ProcessEnv = {
    PATH: dirname(process.execPath),
    HOME: this.home,
    XDG_RUNTIME_DIR: join(this.home, 'run'),
    ANALYZER_CACHE_DIR: this.cacheDir,
    ANALYZER_SERVER__MODE: 'jar',
    ANALYZER_SERVER__IDLE_TIMEOUT: '0s',
  }

  /** Starts a project's server like `analyzer start`, and resolves when it has read the project. */
  async serve(root: string): Promise<AnalyzerProcess> {
    mkdirSync(join(this.home, 'run'), { recursive: true })
    const child = spawn(
      process.execPath,
      [...SMALL_MEMORY.flags, analyzerProgram, 'serve', '--project', root],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...SMALL_MEMORY.environment, ...this.environment },
      },
    )
    let log = ''
    child.stderr.setEncoding('utf8').on('data', (part: string) => (log += part))
    await new Promise<void>((resolve, reject) => {
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (part: string) => {
        said += part
        if (/^ANALYZER_READY .*\n/m.test(said)) resolve()
      })
      child.once('exit', () => reject(new Error(`the server exited: ${said}${log}`)))
    })
    return new AnalyzerProcess(child.pid ?? 0, this.#record(), async () => {
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    })
  }

  #record(): ServerRecord {
    const [file] = globSync('run/analyzer/*.json', { cwd: this.home })
    return JSON.parse(readFileSync(join(this.home, file ?? ''), 'utf8')) as ServerRecord
  }

  removeCache(): void {
    rmSync(this.cacheDir, { recursive: true, force: true })
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }
}

/** Analyzer server of a benchmark in its own process. */
export class AnalyzerProcess {
  readonly pid: number
  readonly stop: () => Promise<void>
  readonly #record: ServerRecord
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(pid: number, record: ServerRecord, stop: () => Promise<void>) {
    this.pid = pid
    this.#record = record
    this.stop = async () => {
      this.#agent.destroy()
      await stop()
    }
  }

  /** Returns the response to a request below `/api/v1`, over one persistent connection. */
  async get(path: string): Promise<string> {
    return this.#send('GET', path)
  }

  async refresh(): Promise<void> {
    // On a separate connection: the server closes idle ones, which a bench that waits for a peer would not notice.
    await this.#send('POST', '/project/refresh', false)
  }

  async #send(method: string, path: string, agent: Agent | false = this.#agent): Promise<string> {
    const { host, port, token } = this.#record
    const asked = request({
      host,
      port,
      method,
      path: `/api/v1${path}`,
      agent,
      headers: { authorization: `Bearer ${token}` },
    })
    const answered = once(asked, 'response')
    asked.end()
    const [response] = (await answered) as [IncomingMessage]
    const body = await text(response)
    if (response.statusCode === 200) return body
    throw new Error(`${method} ${path}: ${response.statusCode} ${body}`)
  }
}
