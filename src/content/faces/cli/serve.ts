import { createLogger, type Logger } from '../../../lib/log/logger.ts'
import type { ContentConfig } from '../../config.ts'
import { create } from '../../server.ts'
import cluster, { type Worker } from 'node:cluster'

const LONGEST_STOP_MS = 10_000
const PURGE = 'purge'

/** Runs the server, in one process or in several, until a signal asks for its end. */
export async function serveUntilStopped(config: ContentConfig): Promise<void> {
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

/** A worker that ends earlier than this would end again. */
const SOUND_MS = 5_000

/** Runs so many processes that listen on one port, and replaces one that ends, until a signal asks for the end of all. */
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
  const begin = (): void => {
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
      logger.error({ code, signal }, 'a process of the server has ended')
      if (performance.now() - startedMs > SOUND_MS) return begin()
      // What keeps one from starting keeps the others too.
      process.exitCode = 1
      stop()
    })
  }
  for (let i = 0; i < count; i++) begin()
  await stopped.promise
}

function workers(): readonly Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}
