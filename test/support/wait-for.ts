import { setImmediate, setTimeout as delay } from 'node:timers/promises'

/** Polls a condition until it is true; fails after `timeoutMs` with a description of it. */
export async function waitFor(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 45_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  // Most conditions are met after a few milliseconds.
  for (let pauseMs = 1; !(await isTrue()); pauseMs = Math.min(2 * pauseMs, 20)) {
    if (performance.now() > endMs) throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}`)
    await delay(pauseMs)
  }
}

/** Polls continuously, for conditions that last only a moment; fails after 60 s with a description of it. */
export async function waitClosely(what: string, isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 60_000
  while (!isTrue()) {
    if (performance.now() > endMs) throw new Error(`timed out waiting for: ${what}`)
    await setImmediate()
  }
}
