import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { SharedWalk } from '../../../src/workspace/disk/shared-walk.ts'

/** Walks that a test ends. Their results are their numbers. */
class Walks {
  readonly started: { readonly signal: AbortSignal; readonly end: () => void; hasEnded: boolean }[] = []
  readonly shared = new SharedWalk<number>(({ signal, onSeen }) => {
    const number = this.started.length
    const done = Promise.withResolvers<number>()
    const walk = { signal: signal!, hasEnded: false, end: () => done.resolve(number) }
    signal!.addEventListener('abort', () => done.reject(signal!.reason))
    this.started.push(walk)
    onSeen!(number)
    return done.promise.finally(() => (walk.hasEnded = true))
  })

  get running(): number {
    return this.started.filter(({ hasEnded }) => !hasEnded).length
  }
}

/** Long enough for all promises that can settle. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test('callers during a walk share the next one and its progress', async () => {
  const { shared, started } = new Walks()
  const seen: string[] = []
  const first = shared.run()
  await settle()
  const others = ['a', 'b'].map((name) => shared.run({ onSeen: (count) => seen.push(`${name}${count}`) }))
  started[0]!.end()
  expect(await first).toBe(0)
  await settle()
  expect(seen).toEqual(['a1', 'b1'])
  started[1]!.end()
  expect(await Promise.all(others)).toEqual([1, 1])
})

test('a walk ends when its last caller leaves, and a failed walk does not stop the next', async () => {
  const { shared, started } = new Walks()
  const [one, two] = [new AbortController(), new AbortController()]
  const results = Promise.allSettled([shared.run(one), shared.run(two)])
  await settle()
  one.abort(new Error('one'))
  expect(started[0]!.signal.aborted).toBe(false)
  const next = shared.run()
  two.abort(new Error('two'))
  expect(started[0]!.signal.aborted).toBe(true)
  expect(await results).toMatchObject([{ reason: { message: 'one' } }, { reason: { message: 'two' } }])
  await settle()
  started[1]!.end()
  expect(await next).toBe(1)
})

test('nobody gets what was measured before asking, and at most one walk runs', async () => {
  type Event = 'call' | 'end' | { readonly leave: number }
  const event = fc.oneof(
    fc.constantFrom<Event>('call', 'call', 'end'),
    fc.nat().map((leave): Event => ({ leave })),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (events) => {
      const walks = new Walks()
      const callers: { readonly end: AbortController; readonly result: Promise<unknown> }[] = []
      for (const each of events) {
        if (each === 'end') walks.started.at(-1)?.end()
        else if (each === 'call') {
          const begunBefore = walks.started.length
          const end = new AbortController()
          const result = walks.shared
            .run({ signal: end.signal })
            .then((number) => expect(number).toBeGreaterThanOrEqual(begunBefore))
            .catch((error: unknown) => expect(error).toBe(end.signal.reason))
          callers.push({ end, result })
        } else callers[each.leave % callers.length]?.end.abort(new Error('left'))
        await settle()
        expect(walks.running).toBeLessThanOrEqual(1)
      }
      for (const _ of [1, 2]) {
        walks.started.at(-1)?.end()
        await settle()
      }
      await Promise.all(callers.map(({ result }) => result))
      expect(walks.running).toBe(0)
    }),
  )
})
