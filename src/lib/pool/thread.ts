import { type MessagePort, workerData } from 'node:worker_threads'
import { packError } from './portable-error.ts'
import type { Outcome } from './protocol.ts'

/** Startup data of each thread. */
export interface ThreadData {
  /** Worker files to load at startup. */
  readonly preload: readonly string[]
}

/** Default export of a worker file, called with its task and a progress callback. */
type Work = (task: unknown, onProgress: (progress: unknown) => void) => unknown

const { preload } = workerData as ThreadData
// A failure here is reported when a task needs the file.
await Promise.allSettled(preload.map((worker) => import(worker)))

/**
 * Entry of every thread: calls the default export of a worker file with the task. It wraps exceptions,
 * because Piscina would clone a thrown error and lose its code.
 */
export default async function runTask(order: {
  readonly worker: string
  readonly task: unknown
  /** Port for progress of the task, if requested. */
  readonly port: MessagePort | undefined
}): Promise<Outcome> {
  const onProgress = (progress: unknown): void => order.port?.postMessage(progress)
  try {
    const { default: work } = (await import(order.worker)) as { readonly default?: unknown }
    if (typeof work !== 'function') throw new TypeError(`${order.worker} has no function as default export`)
    return { is: 'done', result: await (work as Work)(order.task, onProgress) }
  } catch (error) {
    return { is: 'thrown', error: packError(error) }
  }
}
