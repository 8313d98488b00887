import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { create, type RunningSupervisor } from '../../server.ts'
import type { LoadedSupervisorConfig, SupervisorConfig } from '../../config.ts'
import { LogFollower } from '../../log/log-follower.ts'
import { createLinePainter } from './paint.ts'
import { untilStopSignal } from './signals.ts'
import { canStartPrograms, notifyManager } from '../../../native/programs/programs.ts'

/** Time after the stop; service managers kill about 10 s after their request. */
const AFTER_STOP_MS = 2_000

/**
 * Runs the supervisor, also as the first process of a container, until a signal, a request or the exit of its processes stops
 * it. Resolves with the exit status.
 */
export async function serveUntilStopped(
  config: SupervisorConfig,
  reloadConfig: () => LoadedSupervisorConfig,
  showsLines: boolean,
): Promise<number> {
  const logger = createLogger(config.log)
  let running: RunningSupervisor | undefined
  let isKilled = false
  const signaled = untilStopSignal(() => {
    running?.kill()
    isKilled = true
  })
  process.on('SIGHUP', () => {
    void (running && reload(running, logger))
  })
  let follower: LogFollower | undefined
  const onStopped = (): void => follower?.finish()
  running = await create(config, { logger, reloadConfig, onStopped }).start()
  follower = showsLines ? showLines(running) : undefined
  logger.info(
    { port: running.port, proxy: running.proxyPort, config: config.configFile },
    'supervisor is ready',
  )
  notifyServiceManager('READY=1')
  const end = await Promise.race([signaled, running.askedToStop])
  notifyServiceManager('STOPPING=1')
  setTimeout(() => {
    logger.error('the stop timed out; exiting')
    process.exit(1)
  }, config.shutdownTimeoutMs + AFTER_STOP_MS).unref()
  await running.stop()
  if (isKilled) return 1
  return typeof end === 'number' ? end : 0
}

async function reload(running: RunningSupervisor, logger: Logger): Promise<void> {
  notifyServiceManager('RELOADING=1')
  try {
    logger.info(await running.reload(), 'configuration reloaded')
  } catch (error) {
    logger.error(`configuration not reloaded: ${messageOf(error)}`)
  }
  notifyServiceManager('READY=1')
}

/** Shows output on the terminal. A slow terminal misses lines and never blocks a process. */
function showLines({ supervisor: { logs } }: RunningSupervisor): LogFollower {
  const paint = createLinePainter()
  const { stdout } = process
  stdout.on('error', () => undefined)
  const follower = new LogFollower(
    logs,
    {
      isReady: () => !stdout.writableNeedDrain,
      onLines: (lines) =>
        void stdout.write(
          lines
            .map(({ process: name, stream, text }) => `${paint({ process: name, stream, line: text })}\n`)
            .join(''),
        ),
      onLost: (name, lines) =>
        void stdout.write(`supervisor: ${lines} lines of ${name} were printed too fast to show\n`),
    },
    // Starts with the first line.
    { afterSequence: 0 },
  )
  stdout.on('drain', () => follower.resume())
  return follower
}

/** Notifies the service manager of the supervisor's state, if there is one. Source: sd_notify(3). */
function notifyServiceManager(text: string): void {
  const socket = process.env['NOTIFY_SOCKET']
  if (socket === undefined || socket === '' || !canStartPrograms()) return
  try {
    notifyManager(socket, text)
  } catch (error) {
    process.stderr.write(`supervisor: cannot notify the service manager at ${socket}: ${String(error)}\n`)
  }
}
