import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { stringify } from 'yaml'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run, type RunResult } from '../../../src/lib/process/run.ts'
import { compileCache } from '../compile-cache.ts'
import { freePort } from '../services/free-port.ts'
import { tempDir } from '../temp-dir.ts'
import { waitFor } from '../wait-for.ts'

const PROGRAM = join(packageRoot, 'src/bin/supervisor.ts')

/** A project with a configuration and its own user; its supervisors stop with the test. */
export interface SupervisorUser {
  readonly dir: string
  readonly url: string
  /** Entry file of `supervisor`. */
  readonly program: string
  readonly environment: NodeJS.ProcessEnv
  readonly supervisor: (...argv: readonly string[]) => Promise<RunResult>
  /** Runs `supervisor up` in the foreground. */
  readonly start: (around?: readonly string[]) => Up
  /** Runs `supervisor up` and waits until it responds. */
  readonly up: (around?: readonly string[]) => Promise<Up>
  readonly ask: (path: string, method?: string) => Promise<any>
}

interface Up {
  readonly child: ChildProcess
  readonly output: () => string
  /** Resolves with the exit status or signal. */
  readonly ended: Promise<number | string>
}

/** Creates a user with a home directory and a configuration of the given processes. */
export async function supervisorUser(
  processes: Readonly<Record<string, unknown>>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<SupervisorUser> {
  const dir = tempDir()
  const port = await freePort()
  writeFileSync(join(dir, 'supervisor.yaml'), stringify({ api: { port }, ...more, processes }))
  const environment = { ...compileCache, PATH: process.env['PATH'], HOME: dir }
  const url = `http://127.0.0.1:${port}`
  const ask = async (path: string, method = 'GET'): Promise<any> =>
    (await fetch(`${url}/api/v1${path}`, { method })).json()
  const isUp = async (): Promise<boolean> => (await ask('/status').catch(() => ({}))).status === 'running'
  let isShutDown = false
  // Processes and control groups outlive a killed supervisor, so it is asked first.
  const shutDown = async (): Promise<void> => {
    await ask('/shutdown', 'POST').then(
      () => (isShutDown = true),
      () => undefined,
    )
    await waitFor('the supervisor to end', async () => !(await isUp()))
  }
  const start = (around: readonly string[] = []): Up => {
    const words = [...around, process.execPath, PROGRAM, 'up']
    const child = spawn(words[0] ?? '', words.slice(1), {
      cwd: dir,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    onTestFinished(async () => {
      await shutDown()
      if (isShutDown) await ended
      else child.kill('SIGKILL')
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (output += bytes.toString()))
    // All its output has been read by then.
    const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
    return { child, output: () => output, ended }
  }
  onTestFinished(shutDown)
  return {
    dir,
    url,
    program: PROGRAM,
    environment,
    ask,
    supervisor: (...argv) =>
      run(process.execPath, [PROGRAM, ...argv], { cwd: dir, environment, timeoutMs: 25_000 }),
    start,
    async up(around) {
      const started = start(around)
      let isOver = false
      void started.ended.then(() => (isOver = true))
      await waitFor('the supervisor', async () => isOver || (await isUp()))
      return started
    },
  }
}
