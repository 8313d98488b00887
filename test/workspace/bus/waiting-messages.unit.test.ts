import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import type { GuestMessage } from '../../../src/workspace/bus/guest-message.ts'
import { WaitingMessages } from '../../../src/workspace/bus/waiting-messages.ts'
import { rounds } from '../../support/rounds.ts'

const MAX_REQUESTS = 1_000
const MAX_BYTES = 16 * 1024 * 1024

const requestOf = (name: string, id: string): GuestMessage => ({
  envelope: { id, namespace: 'demo', type: 'request', timestamp: '', payloadJson: '{}' },
  workspace: { name, backend: 'qemu', server: 'host' },
})

const actions = fc.array(
  fc.record({
    workspace: fc.constantFrom('a', 'b', 'c'),
    times: fc.constantFrom(1, 10, 400),
    bytes: fc.constantFrom(1, 200, 60_000, 2 ** 20),
    removes: fc.boolean(),
    repeats: fc.boolean(),
  }),
  { minLength: 5, maxLength: 30 },
)

/** Share of a queue that requests use. */
const shareOf = (sizes: readonly number[]) =>
  Math.max(sizes.length / MAX_REQUESTS, sizes.reduce((sum, bytes) => sum + bytes, 0) / MAX_BYTES)

test('B5 a queue stays within its bounds and never refuses a workspace below its fair share', () => {
  fc.assert(
    fc.property(actions, (steps) => {
      const waiting = new WaitingMessages()
      /** Expected queue: bytes by id, by workspace. */
      const model = new Map(['a', 'b', 'c'].map((name) => [name, new Map<string, number>()]))
      const sizesOf = (name: string) => [...(model.get(name)?.values() ?? [])]
      let next = 0
      for (const { workspace, times, bytes, removes, repeats } of steps) {
        const own = model.get(workspace) as Map<string, number>
        for (let i = 0; i < times; i++) {
          const [oldest] = own.keys()
          if (removes && oldest !== undefined) {
            waiting.remove('demo', workspace, oldest)
            own.delete(oldest)
            continue
          }
          if (repeats && oldest !== undefined) {
            const again = waiting.add(requestOf(workspace, oldest), bytes)
            expect(again).toEqual({ isAdded: false, replaced: [] })
            continue
          }
          const id = String(next++)
          const wouldUse = shareOf([...own.values(), bytes])
          const { isAdded, replaced } = waiting.add(requestOf(workspace, id), bytes)
          for (const { envelope, workspace: other } of replaced) {
            expect(other.name).not.toBe(workspace)
            expect(model.get(other.name)?.delete(envelope.id)).toBe(true)
          }
          if (isAdded) own.set(id, bytes)
          // A third of what the others' largest requests leave.
          else expect(wouldUse).toBeGreaterThan((1 - 2 ** 20 / MAX_BYTES) / 3)
          expect(shareOf([...model.keys()].flatMap(sizesOf))).toBeLessThanOrEqual(1)
        }
      }
      const expected = [...model.values()].flatMap((own) => [...own.keys()])
      const taken = expected.map(() => waiting.takeOldest('demo')?.envelope.id)
      expect(taken).toEqual(expected.toSorted((a, b) => Number(a) - Number(b)))
      expect(waiting.has('demo')).toBe(false)
      expect(waiting.takeOldest('demo')).toBeUndefined()
    }),
    { numRuns: rounds(12, 60) },
  )
})
