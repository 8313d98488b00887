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

const POLL_MS = 100

export interface StartOptions {
  readonly port?: number
  readonly mode?: string
  readonly projectJvm?: string
  /** Undefined as the configuration says. */
  readonly watch?: boolean
  readonly timeoutMs: number
  /** Another build of the server, as a JavaScript file. */
  readonly serverJar?: string
}

/**
 * Starts a project's server where none runs, and waits until it is ready. Where two are started at once, both wait for the
 * one that was first.
 *
 * @throws SERVER_START_FAILED and SERVER_TIMEOUT
 */
export async function startServer(projectPath: string, options: StartOptions): Promise<LiveServer> {
  const untilMs = performance.now() + options.timeoutMs
  if ((await findServer(projectPath)) === undefined) {
    const outcome = await spawnServer(projectPath, options, untilMs)
    if (outcome === 'late') throw late(projectPath, options)
    if (outcome.is === 'failed' && outcome.reason !== 'PROJECT_IN_USE') {
      throw fault('SERVER_START_FAILED', `the server of ${projectPath} did not start: ${outcome.message}`)
    }
  }
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
    await delay(POLL_MS)
  }
}

function late(projectPath: string, { timeoutMs }: StartOptions) {
  return fault(
    'SERVER_TIMEOUT',
    `the server of ${projectPath} was not ready after ${timeoutMs / 1_000} s; it goes on starting, "analyzer status" tells how far it is`,
  )
}

type Outcome =
  { readonly is: 'ready' } | { readonly is: 'failed'; readonly reason: string; readonly message: string }

/** Runs the server on its own, and reads the one line that it says. */
async function spawnServer(
  projectPath: string,
  options: StartOptions,
  untilMs: number,
): Promise<Outcome | 'late'> {
  const program = options.serverJar === undefined ? await ownServer() : resolve(options.serverJar)
  const flags = [
    ...(options.port === undefined ? [] : ['--port', String(options.port)]),
    ...(options.mode === undefined ? [] : ['--mode', options.mode]),
    ...(options.projectJvm === undefined ? [] : ['--project-jvm', options.projectJvm]),
    ...(options.watch === undefined ? [] : [options.watch ? '--watch' : '--no-watch']),
  ]
  // Another's server may be writing to it: two commands can start one at once.
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
  let said = ''
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<Outcome | 'late'>((done, reject) => {
      timer = setTimeout(() => done('late'), Math.max(0, untilMs - performance.now()))
      child.once('error', reject)
      child.stdout?.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (/^ANALYZER_READY .*\n/m.test(said)) done({ is: 'ready' })
      })
      child.once('close', (code, signal) => {
        const [, reason = 'CRASHED', message] = /ANALYZER_ERROR reason=(\S+) message="(.*)"/.exec(said) ?? []
        done({ is: 'failed', reason, message: message ?? `it ended with ${signal ?? `status ${code}`}` })
      })
    })
  } finally {
    clearTimeout(timer)
    child.stdout?.destroy()
    child.unref()
    closeSync(log)
  }
}

/** Of the checkout that ANALYZER_REPO_PATH names, else the one that this command is of. */
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
    `ANALYZER_REPO_PATH is "${repoPath}", where there is neither dist/src/bin/analyzer.js nor src/bin/analyzer.ts`,
  )
}
