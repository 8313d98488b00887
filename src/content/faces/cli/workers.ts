import cluster, { type Worker } from 'node:cluster'
import type { Logger } from '../../../lib/log/logger.ts'

/** A worker that ends earlier than this would end again. */
const SOUND_MS = 5_000

/** Runs so many processes that listen on one port, and replaces one that ends, until a signal asks for the end of all. */
export async function runWorkers(count: number, logger: Logger): Promise<void> {
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
