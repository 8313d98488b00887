import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createLogger } from '../../../src/lib/log/logger.ts'
import { CredentialCache } from '../../../src/workspace/credentials/credential-cache.ts'
import type { Credentials } from '../../../src/workspace/credentials/credentials.ts'

const MINUTE = 60_000
const LIFE_MS = 60 * MINUTE

/** A cache on controlled clocks, in front of a controllable STS. */
function cacheOf(options: { readonly serveWhileValid?: boolean; readonly stsClockAheadMs?: number } = {}) {
  const clock = { wallMs: Date.UTC(2026, 10, 21), monotonicMs: 5_000 }
  const sts = { calls: 0, answer: (): Promise<void> => Promise.resolve() }
  const log: string[] = []
  const destination = new PassThrough().setEncoding('utf8').on('data', (line: string) => log.push(line))
  const cache = new CredentialCache({
    async fetch(workspace): Promise<Credentials> {
      const number = ++sts.calls
      await sts.answer()
      return {
        accessKeyId: `${workspace}-${number}`,
        secretAccessKey: 'canary-secret',
        sessionToken: 'canary-token',
        expiration: new Date(clock.wallMs + (options.stsClockAheadMs ?? 0) + LIFE_MS),
      }
    },
    sessionDurationMs: LIFE_MS,
    cacheRefreshBeforeMs: 5 * MINUTE,
    serveWhileValid: options.serveWhileValid ?? true,
    logger: createLogger({ level: 'trace', format: 'json', destination }),
    clock: { wallMs: () => clock.wallMs, nowMs: () => clock.monotonicMs },
  })
  const pass = (ms: number): void => {
    clock.wallMs += ms
    clock.monotonicMs += ms
  }
  const id = async (workspace = 'demo') => (await cache.get(workspace)).accessKeyId
  const breakDown = (): void => void (sts.answer = () => Promise.reject(new Error('STS is down')))
  return { clock, sts, log, pass, id, breakDown }
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('C3 a thousand concurrent callers share one call, and each workspace has its own', async () => {
  const { sts, id } = cacheOf()
  const all = await Promise.all(Array.from({ length: 1_000 }, () => id()))
  expect([new Set(all), sts.calls]).toEqual([new Set(['demo-1']), 1])
  expect(await id('other')).toBe('other-2')
  expect(await id('DEMO')).toBe('demo-1')
})

test('credentials with enough time left are returned without a call', async () => {
  const { sts, pass, id } = cacheOf()
  await id()
  pass(44 * MINUTE)
  expect([await id(), sts.calls]).toEqual(['demo-1', 1])
})

test('the last quarter of a lifetime triggers a refresh in the background', async () => {
  const { sts, pass, id } = cacheOf()
  await id()
  pass(46 * MINUTE)
  expect([await id(), sts.calls]).toEqual(['demo-1', 2])
  await expect.poll(() => id()).toBe('demo-2')
  expect(sts.calls).toBe(2)
})

test('credentials with less than cache_refresh_before left are refreshed first', async () => {
  const { pass, id } = cacheOf()
  await id()
  pass(56 * MINUTE)
  expect(await id()).toBe('demo-2')
})

test('C3 while STS is down, credentials are returned until four minutes before they expire', async () => {
  const { sts, pass, id, breakDown, log } = cacheOf()
  await id()
  pass(56 * MINUTE)
  breakDown()
  expect([await id(), sts.calls]).toEqual(['demo-1', 2])
  expect(log.join('')).toContain('issuing credentials failed')
})

test('C3 while STS is slow, old credentials are returned before an SDK times out', async () => {
  const { sts, pass, id } = cacheOf()
  await id()
  pass(56 * MINUTE)
  const slow = Promise.withResolvers<void>()
  sts.answer = () => slow.promise
  const asked = id()
  await vi.advanceTimersByTimeAsync(999)
  expect(await Promise.race([asked, Promise.resolve('still waits')])).toBe('demo-1')
  slow.resolve()
  await expect.poll(() => id()).toBe('demo-2')
})

test('C3 with serve_while_valid off, old credentials are not returned while new ones cannot be issued', async () => {
  const { pass, id, breakDown } = cacheOf({ serveWhileValid: false })
  await id()
  pass(56 * MINUTE)
  breakDown()
  await expect(id()).rejects.toThrow('STS is down')
})

test('F21 expired credentials are not returned, and a failing STS is called with growing pauses', async () => {
  const { sts, pass, id, breakDown } = cacheOf()
  await id()
  pass(61 * MINUTE)
  breakDown()
  await expect(id()).rejects.toThrow('STS is down')
  await expect(id()).rejects.toThrow('STS is down')
  expect(sts.calls).toBe(2)
  pass(1_000)
  await expect(id()).rejects.toThrow('STS is down')
  expect(sts.calls).toBe(3)
  pass(999)
  await expect(id()).rejects.toThrow('STS is down')
  expect(sts.calls).toBe(3)
  sts.answer = () => Promise.resolve()
  pass(1_001)
  expect(await id()).toBe('demo-4')
})

test.each([
  ['set back', -3_599_000, 61 * MINUTE],
  ['set forward', 7_201_000, 0],
  ['kept while the machine slept', 61 * MINUTE, 0],
])(
  'F20 with the clock %s, credentials expired by either clock are not returned',
  async (_, wallMs, passedMs) => {
    const { clock, pass, id } = cacheOf()
    await id()
    clock.wallMs += wallMs
    pass(passedMs)
    expect(await id()).toBe('demo-2')
  },
)

test('F20 a clock hours behind that of STS does not turn every request into a call', async () => {
  const { sts, pass, id } = cacheOf({ stsClockAheadMs: -3 * 3_600_000 })
  await id()
  pass(10 * MINUTE)
  expect([await id(), sts.calls]).toEqual(['demo-1', 1])
})

test('W12 keys and tokens are not logged', async () => {
  const { log, id } = cacheOf()
  await id()
  expect(log.join('')).toContain('credentials issued')
  expect(log.join('')).not.toContain('canary')
})
