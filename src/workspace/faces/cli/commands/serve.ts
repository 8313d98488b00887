import type { Command } from 'commander'
import { portNumber } from '../../../../lib/cli/arguments.ts'
import { examples } from '../../../../lib/cli/examples.ts'
import { raisePriority } from '../../../../lib/process/priority.ts'
import { tour } from '../tour.ts'

/** Service managers kill a service about 10 s after they ask it to stop. */
const STOP_LIMIT_MS = 9_500

interface ServeOptions {
  readonly config?: string
  readonly httpHost?: string
  readonly httpPort?: number
  readonly sshHost?: string
  readonly sshPort?: number
  readonly stateDir?: string
  readonly tour?: boolean
}

/** Adds the command `serve`, which runs the server in the foreground until a signal stops it. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .addHelpText(
      'after',
      examples('workspace serve --config config.yaml', 'workspace serve --http-port 8081'),
    )
    .description('run the workspace server')
    .option('--config <file>', 'config file (default: WORKSPACE_CONFIG, then the standard locations)')
    .option('--http-host <address>', 'listen address of the API')
    .option('--http-port <port>', 'listen port of the API', portNumber)
    .option('--ssh-host <address>', 'listen address of the SSH server')
    .option('--ssh-port <port>', 'listen port of the SSH server', portNumber)
    .option('--state-dir <dir>', "directory for the server's data")
    .option('--tour', 'print addresses and first steps')
    .action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  // Installed first: a signal during startup must still stop the server cleanly.
  const stopSignal = waitForStopSignal()
  const [{ create }, { loadWorkspaceConfig }, { createLogger }] = await Promise.all([
    import('../../../server.ts'),
    import('../../../config.ts'),
    import('../../../../lib/log/logger.ts'),
  ])
  const { config } = loadWorkspaceConfig(process.env, { file: options.config, flags: flagSettings(options) })
  const logger = createLogger(config.log)
  raisePriority()
  const server = await create(config, { logger }).start()
  if (options.tour === true) process.stdout.write(tour(config, server))
  logger.info(
    { http: server.httpPort, ssh: server.sshPort, backends: server.availableBackends() },
    'workspace server is ready',
  )
  await stopSignal
  // Unfinished work is marked on disk, and the next start undoes it.
  setTimeout(() => {
    logger.error('stopping took too long; exiting without finishing')
    process.exit(1)
  }, STOP_LIMIT_MS).unref()
  await server.stop()
  // A pipe that a crash left open must not keep the process.
  process.exit()
}

/** Resolves at the first signal; a second signal exits immediately. */
function waitForStopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let isStopping = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        if (isStopping) process.exit(1)
        isStopping = true
        resolve()
      })
    }
  })
}

function flagSettings(options: ServeOptions): Record<string, unknown> {
  const { httpHost, httpPort, sshHost, sshPort, stateDir } = options
  return {
    http: given({ host: httpHost, port: httpPort }),
    ssh: given({ host: sshHost, port: sshPort }),
    ...given({ state_dir: stateDir }),
  }
}

function given(settings: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined))
}
