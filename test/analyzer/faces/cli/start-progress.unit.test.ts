import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type ProgressStream, StartProgress } from '../../../../src/analyzer/faces/cli/start-progress.ts'
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
function shown(settings: Partial<ProgressStream>, states: readonly (ScanProgress | undefined)[]) {
  const texts: string[] = []
  const progress = new StartProgress({ ...settings, write: (text) => texts.push(text) })
  for (const state of states) {
    vi.advanceTimersByTime(500)
    progress.show(state)
  }
  progress.hide()
  return texts
}

const resolving: ScanProgress = { step: 'resolving', path: null, readCount: 0, classCount: 0 }
const listing: ScanProgress = { ...resolving, step: 'listing' }

test('a start shows what is read, on a terminal in one line that changes and is removed', () => {
  const states = [undefined, resolving, listing, reading(0), reading(6_000), reading(6_000)]
  expect(shown({ isTTY: true, columns: 200 }, states)).toEqual([
    '\r\u001B[Kresolving the class path',
    '\r\u001B[Klisting classes',
    '\r\u001B[Kreading classes: 0 of 30000 (/jdk/lib/modules)',
    '\r\u001B[Kreading classes: 6000 of 30000 (/jdk/lib/modules)',
    '\r\u001B[K',
  ])
})

test('the line fits into the terminal', () => {
  expect(shown({ isTTY: true, columns: 24 }, [reading(1)])).toEqual([
    '\r\u001B[Kreading classes: 1 of 3',
    '\r\u001B[K',
  ])
  expect(shown({ isTTY: true, columns: 0 }, [reading(1)])[0]).toContain('/jdk/lib/modules')
})

test('elsewhere a start shows a line every 5 s, and none if it is quick', () => {
  expect(
    shown(
      {},
      Array.from({ length: 9 }, (_, n) => reading(n)),
    ),
  ).toEqual([])
  expect(
    shown(
      {},
      Array.from({ length: 24 }, (_, n) => reading(n * 1_000)),
    ),
  ).toEqual([
    'analyzer: reading classes: 9000 of 30000 (/jdk/lib/modules)\n',
    'analyzer: reading classes: 19000 of 30000 (/jdk/lib/modules)\n',
  ])
})
