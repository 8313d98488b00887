import { type MessagePort, workerData } from 'node:worker_threads'
import { packError } from './portable-error.ts'
import type { Outcome } from './protocol.ts'

/** What Piscina hands to each thread at its start. */
export interface ThreadData {
  /** Worker files to be loaded before there are tasks for them. */
  readonly preload: readonly string[]
}

/** What a worker file exports: called with its task, and a way to tell how far it is. */
type Work = (task: unknown, tell: (news: unknown) => void) => unknown

const { preload } = workerData as ThreadData
// What fails here fails again, and is told, when a task needs it.
await Promise.allSettled(preload.map((worker) => import(worker)))

/**
 * What Piscina starts in every thread: calls the default export of a worker file with the task. It stands between the
 * two because Piscina would clone a thrown error, and so lose its code.
 */
export default async function runTask(order: {
  readonly worker: string
  readonly task: unknown
  /** Where news of the task goes, if anybody wants them. */
  readonly port: MessagePort | undefined
}): Promise<Outcome> {
  const tell = (news: unknown): void => order.port?.postMessage(news)
  try {
    const { default: work } = (await import(order.worker)) as { readonly default?: unknown }
    if (typeof work !== 'function') throw new TypeError(`${order.worker} has no function as default export`)
    return { is: 'done', result: await (work as Work)(order.task, tell) }
  } catch (error) {
    return { is: 'thrown', error: packError(error) }
  }
}
