import { isIPv6 } from 'node:net'
import { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { publicOnly } from '../../../src/workspace/egress/upstream.ts'

const keeps = (address: string): boolean =>
  publicOnly([{ address, family: isIPv6(address) ? 6 : 4 }]).length === 1

const LOCAL = [
  '127.0.0.1',
  '127.9.9.9',
  '0.0.0.0',
  '10.1.2.3',
  '172.16.0.1',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '224.0.0.1',
  '255.255.255.255',
  '::1',
  '::',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001:0:7f00:1::',
  'fd00::1',
  'fe80::1',
  'ff02::1',
]

test.each(LOCAL)('N4 a name that resolves to %s is not connected to', (address) => {
  expect(keeps(address)).toBe(false)
})

test('N4 a name that resolves to an address of this host is not connected to', () => {
  const own = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address))
  expect(own.filter(keeps)).toEqual([])
})

test.each(['93.184.215.14', '8.8.8.8', '2606:4700::1111', '2a00:1450:4001::1'])(
  'a public address, %s, is connected to',
  (address) => {
    expect(keeps(address)).toBe(true)
  },
)
