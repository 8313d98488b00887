import { spawn } from 'node:child_process'
import { closeSync, existsSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { siblingModule } from '../../../lib/process/sibling.ts'
import { fault } from '../../errors.ts'
import { recordFile } from '../../lifecycle/server-record.ts'
import { findServer, type LiveServer } from './server-client.ts'
import { SMALL_MEMORY } from './small-memory.ts'
import { StartProgress } from './start-progress.ts'

const POLL_MS = 100

/** Options for starting a server. */
export interface StartOptions {
  readonly port?: number
  readonly mode?: string
  /** Absolute path. */
  readonly projectJvm?: string
  /** Absolute paths; undefined to use the configuration. */
  readonly classes?: readonly string[]
  /** Undefined to use the configuration. */
  readonly watch?: boolean
  readonly timeoutMs: number
  /** Absolute path of another build of the server, a JavaScript file. */
  readonly serverJar?: string
}

/**
 * Starts a project's server if none is running, and waits until it is ready. If two are started at the same
 * time, both callers wait for the first.
 *
 * @throws SERVER_START_FAILED and SERVER_TIMEOUT
 */
export async function startServer(projectPath: string, options: StartOptions): Promise<LiveServer> {
  const untilMs = performance.now() + options.timeoutMs
  const started = await findServer(projectPath)
  if (started === undefined) await spawnUnlessRunning(projectPath, options, untilMs)
  const progress = new StartProgress(process.stderr)
  try {
    return await waitUntilReady(projectPath, options, untilMs, progress)
  } finally {
    progress.hide()
  }
}

async function spawnUnlessRunning(
  projectPath: string,
  options: StartOptions,
  untilMs: number,
): Promise<void> {
  const outcome = await spawnServer(projectPath, options, untilMs)
  if (outcome === 'late') throw late(projectPath, options)
  if (outcome.is === 'failed' && outcome.reason !== 'PROJECT_IN_USE')
    throw fault('SERVER_START_FAILED', `the server of ${projectPath} did not start: ${outcome.message}`)
}

async function waitUntilReady(
  projectPath: string,
  options: StartOptions,
  untilMs: number,
  progress: StartProgress,
): Promise<LiveServer> {
  for (;;) {
    const live = await findServer(projectPath)
    if (live?.info.status === 'READY' || live?.info.status === 'REFRESHING') return live
    if (live?.info.status === 'FAILED') {
      throw fault(
        'SERVER_START_FAILED',
        `the server of ${projectPath} could not scan it: ${live.info.reason ?? ''}`,
      )
    }
    if (performance.now() > untilMs) throw late(projectPath, options)
    progress.show(live?.info.progress)
    await delay(POLL_MS)
  }
}

function late(projectPath: string, { timeoutMs }: StartOptions) {
  return fault(
    'SERVER_TIMEOUT',
    `the server of ${projectPath} was not ready after ${timeoutMs / 1_000} s; it is still starting, check it with "analyzer status"`,
  )
}

type Outcome =
  { readonly is: 'ready' } | { readonly is: 'failed'; readonly reason: string; readonly message: string }

/** Starts the server as a detached process, and reads the one line it prints. */
async function spawnServer(
  projectPath: string,
  options: StartOptions,
  untilMs: number,
): Promise<Outcome | 'late'> {
  const program = options.serverJar ?? (await ownServer())
  const flags = [
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.mode === undefined ? [] : ['--mode', options.mode]),
    ...(options.projectJvm === undefined ? [] : ['--project-jvm', options.projectJvm]),
    ...(options.classes === undefined ? [] : ['--classes', ...options.classes]),
    ...(options.watch === undefined ? [] : [options.watch ? '--watch' : '--no-watch']),
  ]
  // Another process may be writing to it: two commands can start a server at the same time.
  const log = openSync(recordFile(projectPath).replace(/json$/, 'log'), 'a', 0o600)
  const child = spawn(
    process.execPath,
    [...SMALL_MEMORY.flags, program, 'serve', '--project', projectPath, ...flags],
    {
      detached: true,
      stdio: ['ignore', 'pipe', log],
      cwd: projectPath,
      env: { ...SMALL_MEMORY.environment, ...process.env },
    },
  )
  let output = ''
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<Outcome | 'late'>((done, reject) => {
      timer = setTimeout(() => done('late'), Math.max(0, untilMs - performance.now()))
      child.once('error', reject)
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (/^ANALYZER_READY .*\n/m.test(output)) done({ is: 'ready' })
      })
      child.once('close', (code, signal) => {
        const [, reason = 'CRASHED', message] =
          /ANALYZER_ERROR reason=(\S+) message="(.*)"/.exec(output) ?? []
        done({ is: 'failed', reason, message: message ?? `it exited with ${signal ?? `status ${code}`}` })
      })
    })
  } finally {
    clearTimeout(timer)
    child.stdout?.destroy()
    child.unref()
    closeSync(log)
  }
}

/** Returns the server program of the checkout in ANALYZER_REPO_PATH, else of this installation. */
async function ownServer(): Promise<string> {
  // The configuration's modules take longer to load than most commands.
  const { loadAnalyzerConfig } = await import('../../config.ts')
  const { repoPath } = loadAnalyzerConfig(process.env)
  if (repoPath === undefined) return fileURLToPath(siblingModule(import.meta.url, '../../../bin/analyzer'))
  const found = ['dist/src/bin/analyzer.js', 'src/bin/analyzer.ts']
    .map((file) => join(repoPath, file))
    .find((file) => existsSync(file))
  if (found !== undefined) return resolve(found)
  throw fault(
    'SERVER_START_FAILED',
    `ANALYZER_REPO_PATH is "${repoPath}", which has neither dist/src/bin/analyzer.js nor src/bin/analyzer.ts`,
  )
}
