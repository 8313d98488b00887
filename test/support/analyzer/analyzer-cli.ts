import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ServerRecord } from '../../../src/analyzer/lifecycle/server-record.ts'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run, type RunResult } from '../../../src/lib/process/run.ts'
import { compileCache } from '../compile-cache.ts'
import { compiled } from './javac.ts'
import { tempDir } from '../temp-dir.ts'

/** Program of the command line in a checkout. */
const CLI = [process.execPath, join(packageRoot, 'src/bin/analyzer.ts')] as const

/** A user of the analyzer with separate folders; their servers stop with the test. */
export interface AnalyzerUser {
  readonly environment: NodeJS.ProcessEnv
  /** Runs `analyzer …` with piped output until it exits. */
  readonly analyzer: (...argv: readonly string[]) => Promise<RunResult>
  /** Runs it on a terminal, and returns the terminal's output. */
  readonly onTerminal: (...argv: readonly string[]) => Promise<string>
  /** Runs it and returns its JSON output; fails if the status is not 0. */
  readonly json: <T = Record<string, unknown>>(...argv: readonly string[]) => Promise<T>
  readonly runtimeDir: string
  readonly records: () => readonly ServerRecord[]
}

/** A user without a JVM and build tools: their servers read only the project. */
export function analyzerUser(extra: Readonly<Record<string, string>> = {}): AnalyzerUser {
  const home = tempDir()
  const environment = {
    ...compileCache,
    PATH: dirname(process.execPath),
    HOME: home,
    XDG_CACHE_HOME: join(home, 'cache'),
    XDG_RUNTIME_DIR: join(home, 'run'),
    ...extra,
  }
  const runtimeDir = join(home, 'run/analyzer')
  const records = (): readonly ServerRecord[] => readRecords(runtimeDir)
  onTestFinished(() => {
    for (const { pid } of records()) end(pid)
  })
  const [node, program] = CLI
  const analyzer = (...argv: readonly string[]) => run(node, [program, ...argv], { environment })
  return {
    environment,
    analyzer,
    onTerminal: async (...argv) => {
      const line = [...CLI, ...argv].map((word) => `'${word}'`).join(' ')
      const { stdout } = await run('/usr/bin/script', ['-qec', line, '/dev/null'], {
        environment: { ...environment, SHELL: '/bin/sh' },
      })
      return stdout
    },
    json: async <T>(...argv: readonly string[]) => {
      const { status, stdout, stderr } = await analyzer(...argv)
      if (status !== 0) throw new Error(`analyzer ${argv.join(' ')} exited with ${status}: ${stderr}`)
      return JSON.parse(stdout) as T
    },
    runtimeDir,
    records,
  }
}

function readRecords(folder: string): readonly ServerRecord[] {
  try {
    return readdirSync(folder)
      .filter((file) => file.endsWith('.json'))
      .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as ServerRecord)
  } catch {
    return []
  }
}

function end(pid: number): void {
  // A record created by a test may contain the test's own PID.
  if (pid === process.pid || !isAnalyzer(pid)) return
  process.kill(pid, 'SIGKILL')
}

function isAnalyzer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('analyzer')
  } catch {
    return false
  }
}

/** Creates a Maven project with the compiled classes of a folder in test/fixtures/java. */
export function builtProject(fixture = 'demo', options: readonly string[] = []): string {
  const root = join(tempDir(), 'shop')
  mkdirSync(join(root, 'target'), { recursive: true })
  writeFileSync(join(root, 'pom.xml'), '<project/>\n')
  cpSync(compiled(fixture, options), join(root, 'target/classes'), { recursive: true })
  return root
}

/** Starts `analyzer serve` in the foreground; it stops with the test. */
export function spawnServe(user: AnalyzerUser, argv: readonly string[]) {
  const [node, program] = CLI
  const child: ChildProcess = spawn(node, [program, 'serve', ...argv], {
    env: user.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exit = once(child, 'close').then(([status]) => status as number | null)
  return { child, exit, stdout: () => stdout, stderr: () => stderr }
}
