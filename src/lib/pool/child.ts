import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { siblingModule } from '../process/sibling.ts'
import { packError } from './portable-error.ts'
import type { ChildSettings, Order, Outcome, Report } from './protocol.ts'
import type { ThreadData } from './thread.ts'

// The pool's process: a native crash in a thread ends its whole process, and here that is not the server's.

const settings = JSON.parse(process.argv[2] ?? '{}') as ChildSettings
// Before there are threads, which have it from whoever makes them.
if (settings.niceness !== undefined) setPriority(settings.niceness)
const running = new Map<number, AbortController>()

const piscina = new Piscina({
  filename: fileURLToPath(siblingModule(import.meta.url, './thread')),
  maxThreads: settings.maxThreads,
  // Piscina replaces a lost thread only up to the minimum; below the maximum, tasks in its queue would wait for ever.
  minThreads: settings.maxThreads,
  workerData: { preload: settings.preload } satisfies ThreadData,
  ...(settings.maxHeapMb === undefined
    ? {}
    : { resourceLimits: { maxOldGenerationSizeMb: settings.maxHeapMb } }),
})
// A thread that dies between two tasks; Piscina has replaced it.
piscina.on('error', (error: Error) => process.stderr.write(`pool thread: ${error.stack ?? error.message}\n`))

process.on('message', (order: Order) => {
  if (order.do === 'cancel') running.get(order.id)?.abort()
  else void run(order)
})

async function run({ id, worker, task, isFollowed }: Extract<Order, { do: 'run' }>): Promise<void> {
  const cancel = new AbortController()
  running.set(id, cancel)
  const channel = isFollowed ? new MessageChannel() : undefined
  channel?.port1.on('message', (news: unknown) => report({ id, news }))
  const transferList: MessagePort[] = channel === undefined ? [] : [channel.port2]
  let outcome: Outcome
  try {
    const order = { worker, task, port: channel?.port2 }
    outcome = (await piscina.run(order, { signal: cancel.signal, transferList })) as Outcome
  } catch (error) {
    outcome = { is: 'lost', error: packError(error) }
  }
  channel?.port1.close()
  running.delete(id)
  if (!cancel.signal.aborted) report({ id, outcome })
}

function report(message: Report): void {
  try {
    process.send?.(message)
  } catch (error) {
    // Some values may pass between threads but not between processes, a SharedArrayBuffer for one.
    process.send?.({ id: message.id, outcome: { is: 'lost', error: packError(error) } } satisfies Report)
  }
}

// The front process is gone or lets go. A plain exit would first wait for threads, and one inside a long native call
// answers to nobody.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// A terminal or a service manager signals the whole group; what runs here is the front process's to end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
