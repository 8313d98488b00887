import { fc } from '../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { Bus, type Outlet } from '../../../src/workspace/bus/bus.ts'
import type { BusEvent } from '../../../src/workspace/bus/bus-event.ts'
import type { GuestMessage } from '../../../src/workspace/bus/guest-message.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { rounds } from '../../support/rounds.ts'

const step = fc.oneof(
  fc.record({
    does: fc.constant('send' as const),
    from: fc.constantFrom('a', 'b'),
    type: fc.constantFrom('request' as const, 'event' as const),
    times: fc.constantFrom(1, 3, 600),
    bytes: fc.constantFrom(100, 2 ** 20),
  }),
  fc.record({ does: fc.constant('read' as const), count: fc.constantFrom(1, 10, 2_000) }),
  fc.record({ does: fc.constantFrom('listen' as const, 'leave' as const, 'wait' as const) }),
)

test('B2 B5 each message is delivered once and in order, or counted, whenever the listener has room', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const clock = new FakeClock()
      const bus = new Bus({ server: 'host', requestTimeoutMs: 30_000, clock })
      const lost: BusEvent[] = []
      bus.watch((event) => void (event.lost !== undefined && lost.push(event)))
      const guests = new Map(
        ['a', 'b'].map((name) => [name, bus.connect(name, 'qemu', { send: () => true })]),
      )
      const delivered: GuestMessage[] = []
      let room = 0
      const outlet: Outlet = {
        hasRoom: () => room > 0,
        deliver(message) {
          expect(room--).toBeGreaterThan(0)
          delivered.push(message)
        },
      }
      let leave: (() => void) | undefined
      const sent: string[] = []
      for (const each of steps) {
        if (each.does === 'send')
          for (let i = 0; i < each.times; i++) {
            const id = uuidV7(sent.length)
            sent.push(id)
            const envelope = { id, namespace: 'demo', type: each.type, timestamp: '', payloadJson: '{}' }
            guests.get(each.from)?.receive(envelope, each.bytes)
          }
        else if (each.does === 'read') {
          room += each.count
          bus.deliverWaiting('demo')
        } else if (each.does === 'listen') leave ??= bus.listen('demo', outlet)
        else if (each.does === 'wait') await clock.pass(30_000)
        else {
          leave?.()
          leave = undefined
        }
      }
      leave ??= bus.listen('demo', outlet)
      room = Number.POSITIVE_INFINITY
      bus.deliverWaiting('demo')
      const order = new Map(sent.map((id, index) => [id, index]))
      const got = delivered.map(({ envelope }) => envelope.id)
      // Requests expire after they are delivered as well.
      const gone = lost.map(({ envelope }) => envelope.id).filter((id) => !got.includes(id))
      expect([...got, ...gone].toSorted()).toEqual(sent.toSorted())
      expect(got).toEqual(got.toSorted((x, y) => (order.get(x) ?? 0) - (order.get(y) ?? 0)))
    }),
    { numRuns: rounds(20, 100) },
  )
})
