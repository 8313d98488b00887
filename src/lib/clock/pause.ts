import type { AlarmClock } from './clock.ts'

/** Waits for a time, or until the signal aborts. */
export function pause(clock: AlarmClock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.after(delayMs, end)
    signal?.addEventListener('abort', end)
  })
}
