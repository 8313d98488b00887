import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Egress, NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import { sample } from '../../support/rounds.ts'
import { ADDRESSES, createGuest, KINDS, type NetworkGuest } from '../../support/vm/network-guests.ts'

const PORT = 7_777
const OPEN = { allowHostPorts: [], egress: 'open' } as const satisfies NetworkPolicy

/** Every kind of destination, by the names that the expectations use. */
const targets = ({ gateway, resolver }: NetworkGuest): readonly string[] => [
  `internet tcp ${ADDRESSES.internet} ${PORT}`,
  `internet-udp udp ${ADDRESSES.internet} ${PORT}`,
  `lan tcp ${ADDRESSES.lan} ${PORT}`,
  `uplink tcp ${ADDRESSES.uplink} ${PORT}`,
  `host tcp ${ADDRESSES.host} ${PORT}`,
  `host-udp udp ${ADDRESSES.host} ${PORT}`,
  `host-second tcp ${ADDRESSES.second} ${PORT}`,
  `gateway tcp ${gateway} ${PORT}`,
  `gateway-udp udp ${gateway} ${PORT}`,
  `foreign-bridge tcp ${ADDRESSES.foreignBridge} ${PORT}`,
  `metadata tcp ${ADDRESSES.metadata} ${PORT}`,
  `dns udp ${resolver} 53`,
]
const HOST = ['host', 'host-udp', 'host-second', 'gateway', 'gateway-udp', 'foreign-bridge']

const cases: readonly (readonly [string, NetworkPolicy, readonly string[], readonly string[]])[] = [
  [
    'N1 open reaches what is beyond the host, and nothing on it',
    OPEN,
    [],
    ['internet', 'internet-udp', 'lan', 'uplink', 'dns'],
  ],
  ['N2 internet leaves private networks out', egress('internet'), [], ['internet', 'internet-udp', 'dns']],
  ['N2 none reaches nothing, not even DNS', egress('none'), [], []],
  ['N2 a list reaches its networks alone', egress(['192.168.77.0/24']), ['192.168.77.0/24'], ['lan', 'dns']],
  [
    'N2 a list opens nothing on the host',
    egress(['0.0.0.0/0']),
    ['0.0.0.0/0'],
    ['internet', 'internet-udp', 'lan', 'uplink', 'dns'],
  ],
  ['N3 a port of the host is open by its number', { allowHostPorts: [PORT], egress: 'none' }, [], HOST],
  ['N3 another port is not', { allowHostPorts: [PORT + 1], egress: 'none' }, [], []],
]

/** Connections that are open when the rules change: destination, previous permission, and the change. */
const held: readonly (readonly [string, NetworkPolicy, NetworkPolicy])[] = [
  [ADDRESSES.internet, OPEN, egress('none')],
  [ADDRESSES.lan, OPEN, egress('internet')],
  [ADDRESSES.lan, egress(['192.168.77.0/24']), egress(['203.0.113.0/24'])],
  [ADDRESSES.host, { allowHostPorts: [PORT], egress: 'open' }, OPEN],
]
const networksOf = ({ egress: value }: NetworkPolicy) => (typeof value === 'string' ? [] : value)

function egress(value: Egress): NetworkPolicy {
  return { allowHostPorts: [], egress: value }
}

// Most of the time is spent waiting for destinations that do not answer; each kind has its own surroundings.
describe.runIf(process.getuid?.() === 0).concurrent.each(KINDS)('%s', (kind) => {
  let guest: NetworkGuest
  beforeAll(async () => {
    guest = await createGuest(kind, PORT)
  })
  afterAll(() => guest.remove())

  test.each(cases)('%s', { concurrent: false }, async (_name, policy, allowed, expected) => {
    await guest.apply(policy, allowed)
    expect([...(await guest.reach(targets(guest)))].toSorted()).toEqual([...expected].toSorted())
  })

  test.each(sample(held, 4))(
    'N2 a connection to %s is closed when its permission ends',
    { concurrent: false },
    async (address, before, after) => {
      await guest.apply(before, networksOf(before))
      const isAnswered = await guest.hold(address)
      expect(await isAnswered()).toBe(true)
      await guest.apply(after, networksOf(after))
      expect(await isAnswered()).toBe(false)
    },
  )
})
