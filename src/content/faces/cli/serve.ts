import cluster from 'node:cluster'
import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import type { ContentConfig } from '../../config.ts'
import { create } from '../../server.ts'
import { runWorkers } from './workers.ts'

const LONGEST_STOP_MS = 10_000
const PURGE = 'purge'

/** Runs the server, in one process or in several, until a signal asks for its end. */
export async function serveUntilTold(config: ContentConfig): Promise<void> {
  const logger = createLogger(config.log)
  if (cluster.isPrimary && config.http.workers > 1) return runWorkers(config.http.workers, logger)
  await serveHere(config, logger)
}

async function serveHere(config: ContentConfig, logger: Logger): Promise<void> {
  const told = new Promise<void>((resolve) => {
    let isTold = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        // A second one is meant.
        if (isTold) process.exit(1)
        isTold = true
        resolve()
      })
  })
  // A purge empties the caches of all processes.
  const running = await create(config, { logger, onPurge: () => void process.send?.(PURGE) }).start()
  process.on('message', (message) => message === PURGE && running.purge())
  const { host } = config.http
  logger.info(
    { url: `http://${host.includes(':') ? `[${host}]` : host}:${running.port}` },
    'content server is ready',
  )
  if (config.session.secure && config.http.publicUrl?.startsWith('http:') === true)
    logger.warn('browsers send the session over https alone: logins over http need session.secure false')
  await told
  setTimeout(() => process.exit(1), LONGEST_STOP_MS).unref()
  await running.stop()
  cluster.worker?.disconnect()
}
