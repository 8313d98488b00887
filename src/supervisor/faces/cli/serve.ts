import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { create, type RunningSupervisor } from '../../server.ts'
import type { LoadedSupervisorConfig, SupervisorConfig } from '../../config.ts'
import { LogFollower } from '../../log/log-follower.ts'
import { createLinePainter } from './paint.ts'
import { untilToldToStop } from './signals.ts'
import { canStartPrograms, notifyManager } from '../../../native/programs/programs.ts'

/** Whoever stops services kills them some 10 s after asking. */
const AFTER_STOP_MS = 2_000

/**
 * Runs the supervisor until a signal, a request or the end of its processes ends it: as a user's, or as the first process of a
 * container. Resolves with the exit status.
 */
export async function serveUntilTold(
  config: SupervisorConfig,
  reloadConfig: () => LoadedSupervisorConfig,
  showsLines: boolean,
): Promise<number> {
  const logger = createLogger(config.log)
  let running: RunningSupervisor | undefined
  let isKilled = false
  const told = untilToldToStop(() => {
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
  tellManager('READY=1')
  const end = await Promise.race([told, running.askedToStop])
  tellManager('STOPPING=1')
  setTimeout(() => {
    logger.error('stopping took too long; leaving as it is')
    process.exit(1)
  }, config.shutdownTimeoutMs + AFTER_STOP_MS).unref()
  await running.stop()
  if (isKilled) return 1
  return typeof end === 'number' ? end : 0
}

async function reload(running: RunningSupervisor, logger: Logger): Promise<void> {
  tellManager('RELOADING=1')
  try {
    logger.info(await running.reload(), 'the config is read anew')
  } catch (error) {
    logger.error(`the config stays as it was: ${messageOf(error)}`)
  }
  tellManager('READY=1')
}

/** A terminal that does not keep up misses lines, and never holds up a process. */
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
        void stdout.write(`supervisor: ${lines} lines of ${name} came faster than they could be shown\n`),
    },
    // From the first line on.
    { afterSequence: 0 },
  )
  stdout.on('drain', () => follower.resume())
  return follower
}

/** Tells the service manager that has started us how we are, where there is one. Source: sd_notify(3). */
function tellManager(text: string): void {
  const socket = process.env['NOTIFY_SOCKET']
  if (socket === undefined || socket === '' || !canStartPrograms()) return
  try {
    notifyManager(socket, text)
  } catch (error) {
    process.stderr.write(`supervisor: the service manager at ${socket} cannot be told: ${String(error)}\n`)
  }
}
