import { setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { siblingModule } from '../process/sibling.ts'
import { packError } from './portable-error.ts'
import type { ChildSettings, Order, Outcome, Report } from './protocol.ts'
import type { ThreadData } from './thread.ts'

// The pool's process: a native crash in a thread kills this process instead of the server.

const settings = JSON.parse(process.argv[2] ?? '{}') as ChildSettings
// Before threads start, which inherit it.
if (settings.niceness !== undefined) setPriority(settings.niceness)
const running = new Map<number, AbortController>()
/** Ids of threads that have started. */
const ready = new Set<number>()

const piscina = new Piscina({
  filename: fileURLToPath(siblingModule(import.meta.url, './thread')),
  maxThreads: settings.maxThreads,
  // Piscina replaces a lost thread only up to the minimum; below the maximum, queued tasks would wait forever.
  minThreads: settings.maxThreads,
  // Piscina also gives tasks to threads that are starting. If such a task is cancelled, it takes the end of its thread for
  // a failure to start and replaces no lost thread from then on.
  loadBalancer: (_task, threads) =>
    threads.find(({ id, currentUsage }) => currentUsage === 0 && ready.has(id)) ?? null,
  workerData: { preload: settings.preload } satisfies ThreadData,
  ...(settings.maxHeapMb === undefined
    ? {}
    : { resourceLimits: { maxOldGenerationSizeMb: settings.maxHeapMb } }),
})
piscina.on('workerCreate', ({ id }) => ready.add(id))
// Piscina replaces a lost thread at once, unless a thread failed to start. Queued tasks would wait forever.
piscina.on('workerDestroy', () =>
  queueMicrotask(() => {
    if (piscina.threads.length < settings.maxThreads) process.kill(process.pid, 'SIGKILL')
  }),
)
// A thread died between tasks.
piscina.on('error', (error: Error) => process.stderr.write(`pool thread: ${error.stack ?? error.message}\n`))

process.on('message', (order: Order) => {
  if (order.do === 'cancel') running.get(order.id)?.abort()
  else void run(order)
})

async function run({ id, worker, task, isFollowed }: Extract<Order, { do: 'run' }>): Promise<void> {
  const cancel = new AbortController()
  running.set(id, cancel)
  const channel = isFollowed ? new MessageChannel() : undefined
  channel?.port1.on('message', (progress: unknown) => report({ id, progress }))
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
    // Some values, such as a SharedArrayBuffer, can pass between threads but not between processes.
    process.send?.({ id: message.id, outcome: { is: 'lost', error: packError(error) } } satisfies Report)
  }
}

// The parent exited or disconnected. A plain exit would wait for threads, including one in a long native
// call.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
// A terminal or service manager signals the whole group; only the parent stops this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
