import { spawn } from 'node:child_process'
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Command, InvalidArgumentError } from 'commander'
import { portNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { ExitStatus } from '../../../../lib/cli/run.ts'
import { createOutput } from '../../../../lib/cli/output.ts'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import type { SupervisorConfig } from '../../../config.ts'
import { findServerRecord, type ServerRecord } from '../../../../lib/discovery/server-record.ts'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { readToken } from '../../../../lib/fs/token-file.ts'
import { type GlobalOptions, SupervisorClient } from '../client.ts'

const LOOK_EVERY_MS = 30
const READY_LIMIT_MS = 30_000

interface UpOptions extends GlobalOptions {
  readonly detach?: boolean
  readonly quiet?: boolean
  readonly host?: string
  readonly port?: number
  readonly scale?: Readonly<Record<string, number>>
  readonly group?: readonly string[]
}

/** Adds `up`, which runs the supervisor in the foreground or background. */
export function addUp(program: Command): void {
  program
    .command('up')
    .description('run the supervisor and start the processes')
    .option('-d, --detach', 'run in the background and return when it is ready')
    .option('-q, --quiet', 'do not show the output of the processes')
    .option('--host <address>', 'address of the API')
    .option('--port <port>', 'port of the API', portNumber)
    .option('--scale <name=count>', 'number of replicas of a process; separate several with commas', addScale)
    .option(
      '-g, --group <name>',
      'start only processes of this group, and their dependencies; repeatable',
      addGroup,
    )
    .addHelpText(
      'after',
      examples('supervisor up -d && supervisor ps', 'supervisor up -c Procfile --scale web=2,worker=3'),
    )
    .action(async (_options: unknown, command: Command) => {
      const options: UpOptions = command.optsWithGlobals()
      const [{ loadSupervisorConfig }, { CONFIG_FILES }] = await Promise.all([
        import('../../../config.ts'),
        import('../../../config-file/read-config-file.ts'),
      ])
      const flags = flagSettings(options)
      const load = () =>
        loadSupervisorConfig(process.env, {
          file: options.config,
          flags,
          scale: options.scale,
          groups: options.group,
        })
      const loaded = load()
      if (loaded.file === undefined)
        throw new Error(
          `no configuration file found (${CONFIG_FILES.join(', ')}); "supervisor init" writes one`,
        )
      for (const warning of loaded.warnings) process.stderr.write(`supervisor: ${warning}\n`)
      if (options.detach === true) return startBehind(loaded.config, options)
      const { serveUntilStopped } = await import('../serve.ts')
      const status = await serveUntilStopped(loaded.config, load, options.quiet !== true)
      if (status !== 0) throw new ExitStatus(status)
    })
}

function flagSettings({ host, port }: UpOptions): Record<string, unknown> {
  return { api: { ...(host !== undefined && { host }), ...(port !== undefined && { port }) } }
}

function addGroup(name: string, before: readonly string[] = []): readonly string[] {
  return [...before, name]
}

/** Parses `web=2,worker=3` and adds it to earlier options. */
function addScale(text: string, before: Readonly<Record<string, number>> = {}): Record<string, number> {
  const pairs = text.split(',').map((pair) => {
    const [, name, count] = /^([^=]+)=(\d{1,4})$/.exec(pair) ?? []
    if (name === undefined) throw new InvalidArgumentError('It must have the form web=2.')
    return [name, Number(count)] as const
  })
  return { ...before, ...Object.fromEntries(pairs) }
}

/** Starts the same command in the background and returns when it responds. */
async function startBehind(config: SupervisorConfig, options: UpOptions): Promise<void> {
  makeDirs(config.stateDir, 0o700)
  const logFile = join(config.stateDir, 'supervisor.log')
  // Appended to the output of an earlier supervisor, which may still be running.
  const log = openSync(logFile, 'a', 0o600)
  const { size: before } = fstatSync(log)
  const said = (): string => readFileSync(logFile).subarray(before).toString().trim()
  const words = process.argv.slice(1).filter((word) => word !== '-d' && word !== '--detach')
  const child = spawn(process.execPath, [...process.execArgv, ...words, '--quiet'], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  let ended: number | null | undefined
  child.on('exit', (status) => (ended = status))
  const endMs = performance.now() + READY_LIMIT_MS
  while (performance.now() < endMs) {
    if (ended === 0)
      return createOutput(options).result(
        { pid: null, url: null, log: logFile },
        () => `all processes have already exited; see ${logFile}`,
      )
    if (ended !== undefined) throw new Error(`the supervisor could not start: ${said()}`)
    // A record of an earlier supervisor names another process; this one then exits.
    const record = await findServerRecord(config.recordDir)
    if (record !== undefined && record.process.pid === child.pid && (await isReady(record))) {
      child.unref()
      const { url } = record
      return createOutput(options).result(
        { pid: child.pid, url, log: logFile },
        () => `supervisor is running at ${url}, process ${child.pid}`,
      )
    }
    await delay(LOOK_EVERY_MS)
  }
  throw new Error(`the supervisor is not ready after ${READY_LIMIT_MS / 1_000} s; see ${logFile}`)
}

async function isReady({ url, tokenFile }: ServerRecord): Promise<boolean> {
  const token = tokenFile === null ? undefined : await readToken(tokenFile)
  const client = new SupervisorClient(url, token)
  const answer = await client.get<{ status: string }>('/status').catch(ignore('it does not respond yet'))
  return answer?.status === 'running'
}
