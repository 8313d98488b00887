import { expect, test } from 'vitest'
import type { Envelope } from '../../../src/lib/envelope/envelope.ts'
import { uuidV7 } from '../../../src/lib/envelope/uuid-v7.ts'
import { Bus } from '../../../src/workspace/bus/bus.ts'
import type { GuestMessage } from '../../../src/workspace/bus/guest-message.ts'
import { systemClock } from '../../../src/lib/clock/clock.ts'

/** A reproducible generator. Source: Marsaglia, "Xorshift RNGs". */
function numbersBelow(): (end: number) => number {
  let state = 20_261_121
  return (end) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % end
  }
}

test('B2 F18 in 100,000 random steps no request gets a second final answer or another’s', () => {
  const below = numbersBelow()
  const bus = new Bus({ server: 'host', requestTimeoutMs: 60_000, clock: systemClock })
  const heard = new Map<string, Envelope[]>()
  const names = ['a', 'b', 'c', 'd']
  const namespaces = ['one', 'two']
  const connect = (name: string) =>
    bus.connect(name, 'qemu', {
      send(envelope) {
        heard.set(name, [...(heard.get(name) ?? []), envelope].slice(-1))
        const { inReplyTo = '', isFinal } = envelope
        const request = requests.get(inReplyTo)
        expect(request?.name).toBe(name)
        expect(request?.namespace).toBe(envelope.namespace)
        expect(finals.has(inReplyTo)).toBe(false)
        if (isFinal === true) finals.add(inReplyTo)
        return true
      },
    })
  const requests = new Map<string, { readonly name: string; readonly namespace: string }>()
  const finals = new Set<string>()
  const delivered: GuestMessage[] = []
  const guests = new Map(names.map((name) => [name, connect(name)]))
  const listeners = new Map<string, () => void>()
  for (let step = 0; step < 100_000; step++) {
    const name = names[below(names.length)] ?? ''
    const namespace = namespaces[below(namespaces.length)] ?? ''
    const action = below(20)
    if (action < 8) {
      const id = uuidV7(step)
      requests.set(id, { name, namespace })
      const timestamp = '2026-01-01T00:00:00.000Z'
      guests.get(name)?.receive({ id, namespace, type: 'request', timestamp, payloadJson: '{}' }, 100)
    } else if (action < 18 && delivered.length > 0) {
      const { envelope, workspace } = delivered[Math.max(0, delivered.length - 1 - below(50))] ?? {}
      bus.respond(below(10) === 0 ? namespace : (envelope?.namespace ?? ''), {
        workspaceName: below(10) === 0 ? name : (workspace?.name ?? ''),
        inReplyTo: envelope?.id ?? '',
        isFinal: below(2) === 0,
        payload: {},
      })
    } else if (action === 18) {
      const leave = listeners.get(namespace)
      if (leave === undefined)
        listeners.set(
          namespace,
          bus.listen(namespace, { deliver: (message) => void delivered.push(message) }),
        )
      else {
        leave()
        listeners.delete(namespace)
      }
    } else if (below(20) === 0) guests.set(name, connect(name))
  }
  expect(finals.size).toBeGreaterThan(1_000)
  expect(bus.counts.lateResponses).toBeGreaterThan(1_000)
})
