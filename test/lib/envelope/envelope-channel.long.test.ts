import { duplexPair } from 'node:stream'
import { expect, test } from 'vitest'
import { EnvelopeChannel } from '../../../src/lib/envelope/envelope-channel.ts'
import { envelopeToWire } from '../../../src/lib/envelope/envelope.ts'
import { encodeFrame } from '../../../src/lib/envelope/frames.ts'
import { waitFor } from '../../support/wait-for.ts'

test('B5 thousands of messages at once wait for their turn, and none is lost', async () => {
  const [connection, peer] = duplexPair()
  peer.on('error', () => undefined)
  let count = 0
  const channel = new EnvelopeChannel(connection, 2 ** 20, () => void count++)
  const event = encodeFrame(
    envelopeToWire({
      id: '01900000-0000-7000-8000-000000000000',
      namespace: 'greeter',
      type: 'event',
      timestamp: '2026-01-01T00:00:00.000Z',
      payload: {},
    }),
  )
  const reads = 20
  const perRead = 1_000
  for (let i = 0; i < reads; i++) connection.push(Buffer.concat(Array.from({ length: perRead }, () => event)))
  await new Promise((resolve) => setImmediate(resolve))
  expect(connection.isPaused()).toBe(true)
  expect(count).toBeLessThan(reads * perRead)
  await waitFor('all messages', () => count === reads * perRead)
  channel.close()
})
