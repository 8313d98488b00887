import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ProgressStream, showStartProgress } from '../../../../src/analyzer/faces/cli/start-progress.ts'
import type { ScanProgress } from '../../../../src/analyzer/scan/scan-progress.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const reading = (readCount: number): ScanProgress => ({
  step: 'reading',
  path: '/jdk/lib/modules',
  readCount,
  classCount: 30_000,
})

/** Returns what a stream gets while a server has one progress after the other, for half a second each. */
async function shown(
  settings: Partial<ProgressStream>,
  states: readonly (ScanProgress | Error | undefined)[],
) {
  const texts: string[] = []
  let at = 0
  const stop = showStartProgress({ ...settings, write: (text) => texts.push(text) }, async () => {
    const state = states[at]
    if (state instanceof Error) throw state
    return state
  })
  for (; at < states.length; at++) await vi.advanceTimersByTimeAsync(500)
  stop()
  await vi.advanceTimersByTimeAsync(60_000)
  return texts
}

const resolving: ScanProgress = { step: 'resolving', path: null, readCount: 0, classCount: 0 }
const listing: ScanProgress = { ...resolving, step: 'listing' }

test('a start shows what is read, on a terminal in one line that changes and is removed', async () => {
  const states = [
    undefined,
    new Error('not yet'),
    resolving,
    listing,
    reading(0),
    reading(6_000),
    reading(6_000),
  ]
  expect(await shown({ isTTY: true, columns: 200 }, states)).toEqual([
    '\r\u001B[Kresolving the class path',
    '\r\u001B[Klisting classes',
    '\r\u001B[Kreading classes: 0 of 30000 (/jdk/lib/modules)',
    '\r\u001B[Kreading classes: 6000 of 30000 (/jdk/lib/modules)',
    '\r\u001B[K',
  ])
})

test('the line fits into the terminal', async () => {
  expect(await shown({ isTTY: true, columns: 24 }, [reading(1)])).toEqual([
    '\r\u001B[Kreading classes: 1 of 3',
    '\r\u001B[K',
  ])
  expect((await shown({ isTTY: true, columns: 0 }, [reading(1)]))[0]).toContain('/jdk/lib/modules')
})

test('elsewhere a start shows a line every 5 s, and none if it is quick', async () => {
  expect(
    await shown(
      {},
      Array.from({ length: 9 }, (_, n) => reading(n)),
    ),
  ).toEqual([])
  expect(
    await shown(
      {},
      Array.from({ length: 24 }, (_, n) => reading(n * 1_000)),
    ),
  ).toEqual([
    'analyzer: reading classes: 9000 of 30000 (/jdk/lib/modules)\n',
    'analyzer: reading classes: 19000 of 30000 (/jdk/lib/modules)\n',
  ])
})
