import type { Command } from 'commander'
import { portNumber } from '../../../../lib/cli/arguments.ts'
import { raisePriority } from '../../../../lib/process/priority.ts'
import { tour } from '../tour.ts'

/** Whoever stops services kills them some 10 s after asking. */
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

/** Runs the server in the foreground until it is told to stop. */
export function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the workspace server')
    .option('--config <file>', 'config file; default WORKSPACE_CONFIG, else the usual places')
    .option('--http-host <address>', 'address of the API')
    .option('--http-port <port>', 'port of the API', portNumber)
    .option('--ssh-host <address>', 'address of the SSH server')
    .option('--ssh-port <port>', 'port of the SSH server', portNumber)
    .option('--state-dir <dir>', "the server's own directory")
    .option('--tour', 'print where everything is and what to try first')
    .action(serve)
}

async function serve(options: ServeOptions): Promise<void> {
  // From the first moment: a server told to stop while it starts must still leave in good order.
  const toldToStop = untilStopSignal()
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
  await toldToStop
  // What is still half made then is marked on disk, and undone by the next start.
  setTimeout(() => {
    logger.error('stopping took too long; leaving as it is')
    process.exit(1)
  }, STOP_LIMIT_MS).unref()
  await server.stop()
}

/** The first signal asks the server to stop in good order; a second one ends it at once. */
function untilStopSignal(): Promise<void> {
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
