import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { ClientAddress, networkMistake } from '../../../../src/lib/http/proxy/client-address.ts'

const request = (remoteAddress: string, forwarded?: string) =>
  ({ socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } }) as unknown as IncomingMessage
const of = (forwarded: string, trusted = ['127.0.0.1'], peer = '127.0.0.1') =>
  new ClientAddress(trusted).of(request(peer, forwarded))

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['203.0.113.7:5678', '203.0.113.7'],
  ['"203.0.113.7:5678"', '203.0.113.7'],
  ['203.0.113.7:_hidden', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:80', '203.0.113.7'],
  ['2001:DB8:0::5', '2001:db8::5'],
  ['[2001:db8::5]', '2001:db8::5'],
  ['"[2001:db8::5]:443"', '2001:db8::5'],
  ['fe80::1%eth0', 'fe80::1'],
  ['203.0.113.7:5678, 127.0.0.1:80', '203.0.113.7'],
])('O2 the entry %j that a proxy added names the client, not what the client sent', (entry, client) => {
  expect(of(`6.6.6.6, ${entry}`)).toBe(client)
  expect(of(`6.6.6.6,${entry}`, ['127.0.0.1'], '::ffff:127.0.0.1')).toBe(client)
})

test.each([
  'unknown',
  '_hidden',
  '',
  'unix:',
  '203.0.113.007',
  '203.0.113.7:5678:1',
  '203.0.113.7 6.6.6.6',
  '[2001:db8::5',
  '2001:db8::5]:1',
  '"203.0.113.7',
  'for=203.0.113.7',
])('O2 an entry %j that cannot be read never shows what the client sent', (entry) => {
  expect(of(`6.6.6.6, ${entry}`)).toBe('127.0.0.1')
  expect(of(`6.6.6.6, ${entry}, 10.0.0.1`, ['127.0.0.1', '10.0.0.0/8'])).toBe('10.0.0.1')
  expect(of(entry)).toBe('127.0.0.1')
})

test('a client without a trusted proxy has the address of its connection', () => {
  expect(of('6.6.6.6', [])).toBe('127.0.0.1')
  expect(of('6.6.6.6', ['127.0.0.1'], '::ffff:192.0.2.1')).toBe('192.0.2.1')
  expect(new ClientAddress(['127.0.0.1']).of(request('127.0.0.1'))).toBe('127.0.0.1')
  expect(of('127.0.0.2, 127.0.0.1', ['127.0.0.0/8'])).toBe('127.0.0.2')
})

test.each([
  ['10.1.2.3/8', ['10.9.9.9', '::ffff:10.0.0.1'], ['11.0.0.0']],
  ['::ffff:10.0.0.1', ['10.0.0.1'], ['10.0.0.2']],
  ['::ffff:10.0.0.0/104', ['10.9.9.9'], ['11.0.0.0', '::1']],
  ['0.0.0.0/0', ['8.8.8.8', '::ffff:8.8.8.8'], ['2001:db8::1']],
  ['::/0', ['2001:db8::1'], ['8.8.8.8', '::ffff:8.8.8.8']],
  ['fe80::/10', ['fe80::1%eth0'], ['fec0::1']],
])('the network %s contains %j and not %j', (network, inside, outside) => {
  expect(networkMistake(network)).toBeUndefined()
  const isProxied = (address: string) => new ClientAddress([network]).isProxied(request(address))
  expect(inside.map(isProxied)).toEqual(inside.map(() => true))
  expect(outside.map(isProxied)).toEqual(outside.map(() => false))
})

test.each([
  ['::ffff:10.0.0.0/8', 'write 10.0.0.0/8,'],
  ['::ffff:a00:0/95', 'write 10.0.0.0/32,'],
  ['fe80::1%eth0', 'leave out "%" and the zone'],
  ['fe80::%eth0/10', 'leave out "%" and the zone'],
  ['10.0.0.0/33', 'is not an IP address'],
  ['10.0.0.0/', 'is not an IP address'],
  ['2001:db8::/129', 'is not an IP address'],
  ['010.0.0.1', 'is not an IP address'],
  ['[::1]', 'is not an IP address'],
  ['127.0.0.1:80', 'is not an IP address'],
  ['', 'is not an IP address'],
])('the proxy %j is refused, because it %s', (network, why) => {
  expect(networkMistake(network)).toContain(why)
})
