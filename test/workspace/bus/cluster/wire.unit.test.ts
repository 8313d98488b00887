import { fc } from '../../../support/fast-check.ts'
import { expect, test } from 'vitest'
import { uuidV7 } from '../../../../src/lib/envelope/uuid-v7.ts'
import * as wire from '../../../../src/workspace/bus/cluster/wire.ts'
import type { GuestMessage } from '../../../../src/workspace/bus/guest-message.ts'
import { rounds } from '../../../support/rounds.ts'

const message: GuestMessage = {
  envelope: {
    id: uuidV7(1),
    namespace: 'demo',
    type: 'request',
    timestamp: '2026-01-01T00:00:00.000Z',
    payloadJson: '{"text":"a\\nb ä"}',
  },
  workspace: { name: 'demo', backend: 'qemu', server: 'one' },
}

test('a server decodes what another server encodes', () => {
  const since = new Date('2026-01-01T00:00:00.000Z')
  const hello = { server: 'one', instance: 'a', listeners: new Map([['demo', since]]), isLeaving: false }
  expect(wire.helloFromWire(wire.helloToWire(hello))).toEqual(hello)
  const claim = { server: 'one', namespace: 'demo', since, isWithdrawn: true }
  expect(wire.claimFromWire(wire.claimToWire(claim))).toEqual(claim)
  expect(wire.messageFromWire(wire.messageToWire(message))).toEqual(message)
  const answer = { workspaceName: 'demo', inReplyTo: uuidV7(2), isFinal: false, payload: { a: 1 } }
  expect(wire.answerFromWire(wire.answerToWire({ namespace: 'demo', answer }))).toEqual({
    namespace: 'demo',
    answer,
  })
  const guest = {
    ...message.workspace,
    extensions: [{ namespace: 'x', guest: 'running', host: 'connected' }],
  }
  expect(wire.guestsFromWire(JSON.stringify([guest, { name: 7 }, null]))).toEqual([guest])
})

test('B6 a payload that contains a line break or is not an object is refused', () => {
  const [head] = wire.messageToWire(message).split('\n')
  for (const payload of ['', '[]', '{}\n\ndata: forged', '{"a":\n1}'])
    expect(wire.messageFromWire(`${head}\n${payload}`)).toBeUndefined()
})

test('B3 B4 any other input is ignored without an exception', () => {
  const readers = [
    wire.helloFromWire,
    wire.claimFromWire,
    wire.claimReplyFromWire,
    wire.messageFromWire,
    wire.answerFromWire,
  ]
  const texts = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({ server: fc.jsonValue(), namespace: fc.jsonValue(), listeners: fc.jsonValue() })
      .map((each) => JSON.stringify(each)),
  )
  fc.assert(
    fc.property(texts, (text) => {
      for (const read of readers) expect(() => read(text)).not.toThrow()
      expect(wire.guestsFromWire(text)).toBeInstanceOf(Array)
      expect(wire.failureFromWire(text).code).toBeTypeOf('string')
    }),
    { numRuns: rounds(400, 2_000) },
  )
})
