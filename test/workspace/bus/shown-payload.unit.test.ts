import { expect, test } from 'vitest'
import type { Envelope } from '../../../src/lib/envelope/envelope.ts'
import { shownPayload } from '../../../src/workspace/bus/shown-payload.ts'

const head = {
  id: '01234567-89ab-7000-8000-000000000000',
  namespace: 'demo',
  type: 'event',
  timestamp: '2026-01-02T03:04:05.678Z',
} as const

const shownOf = (payload: Envelope['payload']) => shownPayload({ ...head, payload })

test('a payload is shown with the values of secret-sounding fields masked', () => {
  const secrets = ['SecretAccessKey', 'session_token', 'password', 'credentials', 'Authorization', 'api-key']
  for (const name of [...secrets, 'Set-Cookie', 'private_key', 'passphrase'])
    expect(shownOf({ step: 1, within: [{ [name]: { deep: 'canary' } }] })).toEqual({
      is: 'shown',
      payload: { step: 1, within: [{ [name]: '[secret]' }] },
    })
  const plain = { keyboard: 'de', path: '/a', monkey: null, count: [1, 'two', true] }
  expect(shownOf(plain)).toEqual({ is: 'shown', payload: plain })
})

test('a payload received over the wire is masked, too', () => {
  const received = { ...head, payloadJson: '{"a": {"token": "canary"}}' }
  expect(shownPayload(received)).toEqual({ is: 'shown', payload: { a: { token: '[secret]' } } })
})

test.each(['system:health', 'system:bus', 'cloud-credentials'])(
  'payloads in %s are never shown',
  (namespace) => {
    expect(shownPayload({ ...head, namespace, payload: { a: 1 } })).toEqual({
      is: 'left_out',
      because: 'secret',
    })
  },
)

test('a payload of up to 16 KiB is shown', () => {
  const room = 16 * 1024 - '{"a":""}'.length
  expect(shownOf({ a: 'x'.repeat(room) }).is).toBe('shown')
  expect(shownOf({ a: 'x'.repeat(room + 1) })).toEqual({ is: 'left_out', because: 'too_large' })
})
