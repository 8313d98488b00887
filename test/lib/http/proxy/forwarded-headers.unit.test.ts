import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { ClientAddress } from '../../../../src/lib/http/proxy/client-address.ts'
import { toUpstream } from '../../../../src/lib/http/proxy/forwarded-headers.ts'

/** Returns the X-Forwarded headers that a request is sent on with. */
function forwarded(
  sent: Readonly<Record<string, string>>,
  trusted: readonly string[],
  protocol: 'http' | 'https',
  remoteAddress = '192.0.2.1',
) {
  const headers: Readonly<Record<string, string>> = { host: 'web.localhost', ...sent }
  const message = {
    headers,
    rawHeaders: Object.entries(headers).flat(),
    socket: { remoteAddress },
  } as unknown as IncomingMessage
  const passed = toUpstream({ message, url: new URL('http://web.localhost/') } as never, {
    name: 'front',
    protocol,
    clients: new ClientAddress(trusted),
  })
  const found = passed.filter(([name]) => /forwarded|real-ip/i.test(name))
  return Object.fromEntries(
    found.map(([name, value]) => [name.toLowerCase().replace('x-forwarded-', ''), value]),
  )
}

const sent = {
  'x-forwarded-for': '6.6.6.6, 203.0.113.7',
  'x-forwarded-host': 'dev.example',
  'x-forwarded-proto': 'https',
  'x-real-ip': '203.0.113.7',
  forwarded: 'for=203.0.113.7;proto=https',
}
const own = { for: '192.0.2.1', host: 'web.localhost', proto: 'http' }

test.each([
  ['of a client are replaced', sent, [], own],
  ['of a proxy that is not trusted are replaced', sent, ['198.51.100.0/24'], own],
  [
    'of a trusted proxy are passed on, with its address',
    sent,
    ['192.0.2.0/24'],
    { for: '6.6.6.6, 203.0.113.7, 192.0.2.1', host: 'dev.example', proto: 'https' },
  ],
  ['that a trusted proxy does not send are set', {}, ['192.0.2.1'], own],
  [
    'of a trusted proxy may be some of them',
    { 'x-forwarded-proto': 'https' },
    ['192.0.2.1'],
    { ...own, proto: 'https' },
  ],
])('S11 W10 X-Forwarded headers %s', (_, headers, trusted, expected) => {
  expect(forwarded(headers, trusted, 'http')).toEqual(expected)
})

test.each([
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['2001:DB8:0::1', '2001:db8::1'],
  ['::ffff:1:192.0.2.1', '::ffff:1:c000:201'],
])('S11 W10 the address %s is sent on as %s', (remoteAddress, address) => {
  expect(forwarded({}, [], 'http', remoteAddress)['for']).toBe(address)
})

test('S11 W10 a TLS server behind a trusted proxy sends https, unless the proxy names another scheme', () => {
  expect(forwarded({}, ['192.0.2.1'], 'https')).toMatchObject({ proto: 'https' })
  expect(forwarded({ 'x-forwarded-proto': 'http' }, ['192.0.2.1'], 'https')).toMatchObject({ proto: 'http' })
})
