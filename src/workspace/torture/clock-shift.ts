import { isMainThread } from 'node:worker_threads'

// Preloaded into the server of a run (`node --import`): shifts the wall clock that its code reads, as a set system
// clock would, while timers continue as they do then. The machine's clock does not change. Processes and threads that
// the server starts inherit the preload, but not the channel.

/** The message that shifts the clock; it is answered with itself. */
export interface ClockShift {
  readonly shiftMs: number
}

if (isMainThread && process.argv[2] === 'serve' && process.send !== undefined) {
  const SystemDate = Date
  let shiftMs = 0
  const now = (): number => SystemDate.now() + shiftMs
  globalThis.Date = new Proxy(SystemDate, {
    construct: (target, argv, newTarget) =>
      Reflect.construct(target, argv.length === 0 ? [now()] : argv, newTarget) as Date,
    apply: () => new SystemDate(now()).toString(),
    get: (target, key) => (key === 'now' ? now : (Reflect.get(target, key) as unknown)),
  })
  process.on('message', (message: ClockShift) => {
    shiftMs = message.shiftMs
    process.send?.(message)
  })
  process.channel?.unref()
}
