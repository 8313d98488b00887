import { setTimeout as delay } from 'node:timers/promises'

/** Asks again until the answer is true; fails after `timeoutMs` with what was waited for. */
export async function waitFor(
  what: string,
  isTrue: () => boolean | Promise<boolean>,
  timeoutMs = 15_000,
): Promise<void> {
  const endMs = performance.now() + timeoutMs
  // Most of it is there after a few milliseconds.
  for (let pauseMs = 1; !(await isTrue()); pauseMs = Math.min(2 * pauseMs, 20)) {
    if (performance.now() > endMs) throw new Error(`waited ${timeoutMs} ms in vain for ${what}`)
    await delay(pauseMs)
  }
}
