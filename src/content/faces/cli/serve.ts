import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import type { ContentConfig } from '../../config.ts'
import { create } from '../../server.ts'
import cluster, { type Worker } from 'node:cluster'

const MAX_STOP_MS = 10_000
const PURGE = 'purge'

/** Runs the server, in one or several processes, until a signal stops it. */
export async function serveUntilStopped(config: ContentConfig): Promise<void> {
  const logger = createLogger(config.log)
  if (cluster.isPrimary && config.http.workers > 1) return runWorkers(config.http.workers, logger)
  await serveHere(config, logger)
}

async function serveHere(config: ContentConfig, logger: Logger): Promise<void> {
  const stopRequested = new Promise<void>((resolve) => {
    let isStopping = false
    for (const signal of ['SIGINT', 'SIGTERM'] as const)
      process.on(signal, () => {
        // A second signal stops the process immediately.
        if (isStopping) process.exit(1)
        isStopping = true
        resolve()
      })
  })
  // A purge clears the caches of all processes.
  const running = await create(config, { logger, onPurge: () => void process.send?.(PURGE) }).start()
  process.on('message', (message) => message === PURGE && running.purge())
  const { host } = config.http
  logger.info(
    { url: `http://${host.includes(':') ? `[${host}]` : host}:${running.port}` },
    'content server is ready',
  )
  if (config.session.secure && config.http.publicUrl?.startsWith('http:') === true)
    logger.warn(
      'browsers send the session cookie only over https; set session.secure to false to log in over http',
    )
  await stopRequested
  setTimeout(() => process.exit(1), MAX_STOP_MS).unref()
  await running.stop()
  cluster.worker?.disconnect()
}

/** A worker that exits sooner than this would only exit again. */
const MIN_UPTIME_MS = 5_000

/** Runs worker processes that listen on one port, and replaces those that exit, until a signal stops them. */
async function runWorkers(count: number, logger: Logger): Promise<void> {
  const stopped = Promise.withResolvers<void>()
  let isStopping = false
  const stop = (): void => {
    if (isStopping) process.exit(1)
    isStopping = true
    for (const worker of workers()) worker.process.kill('SIGTERM')
    if (workers().length === 0) stopped.resolve()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  const startWorker = (): void => {
    const startedMs = performance.now()
    const worker = cluster.fork()
    worker.on('message', (message) => {
      for (const other of workers()) if (other !== worker) other.send(message)
    })
    worker.on('exit', (code, signal) => {
      if (isStopping) {
        if (workers().length === 0) stopped.resolve()
        return
      }
      logger.error({ code, signal }, 'a worker process exited')
      if (performance.now() - startedMs > MIN_UPTIME_MS) return startWorker()
      // The cause affects the other workers too.
      process.exitCode = 1
      stop()
    })
  }
  for (let i = 0; i < count; i++) startWorker()
  await stopped.promise
}

function workers(): readonly Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
