import { fc } from '../../support/fast-check.ts'
import { BlockList } from 'node:net'
import { expect, test } from 'vitest'
import {
  narrowed,
  parseNetworkLimits,
  type WireNetworkLimits,
} from '../../../src/workspace/network/narrow.ts'
import {
  type Egress,
  type NetworkPolicy,
  parseEgress,
  PRIVATE_NETWORKS,
} from '../../../src/workspace/network/policy.ts'
import { rounds } from '../../support/rounds.ts'

const ADDRESSES = ['203.0.113.9', '198.51.100.7', '10.1.2.3', '10.9.9.9', '192.168.77.1']
const NETWORKS = [
  '203.0.113.0/24',
  '203.0.113.9',
  '0.0.0.0/0',
  '10.0.0.0/8',
  '10.1.0.0/16',
  '8.0.0.0/6',
  '192.168.77.0/24',
]
const PORTS = [80, 443, 5_432]

const egress: fc.Arbitrary<Egress> = fc.oneof(
  fc.constantFrom<Egress>('open', 'internet', 'none'),
  fc.uniqueArray(fc.constantFrom(...NETWORKS), { minLength: 1, maxLength: 3 }),
)
const ports = fc.uniqueArray(fc.constantFrom(...PORTS))
const limits: fc.Arbitrary<WireNetworkLimits> = fc.record(
  { egress: egress.map((each) => (typeof each === 'string' ? each : [...each])), allow_host_ports: ports },
  { requiredKeys: [] },
)
const policy: fc.Arbitrary<NetworkPolicy> = fc.record({ egress, allowHostPorts: ports })

/** Whether a policy permits an address, by its definition. */
function allows(value: Egress, address: string): boolean {
  const isIn = (networks: readonly string[]): boolean =>
    networks.some((network) => {
      const [base = '', length = '32'] = network.split('/')
      const list = new BlockList()
      list.addSubnet(base, Number(length))
      return list.check(address)
    })
  if (typeof value !== 'string') return isIn(value)
  return value === 'open' || (value === 'internet' && !isIn(PRIVATE_NETWORKS))
}

const parse = (wire: WireNetworkLimits, of: NetworkPolicy, isIsolated = true) =>
  parseNetworkLimits(wire, { isIsolated, policy: of, egressProfiles: ['agents'] })

test('N2 limits never widen a policy, and those that would are refused at creation', () => {
  fc.assert(
    fc.property(policy, limits, (server, wire) => {
      let own
      try {
        own = parse(wire, server)
      } catch (error) {
        expect(error).toMatchObject({ code: 'INVALID_REQUEST' })
        return
      }
      const both = narrowed(server, own)
      // The public part of a partly private network in a list is excluded as well.
      const isExact = wire.egress !== 'internet' || typeof server.egress === 'string'
      for (const address of ADDRESSES) {
        const asked = wire.egress === undefined || allows(parseEgress(wire.egress), address)
        const expected = allows(server.egress, address) && asked
        const found = allows(both.egress, address)
        if (isExact || found) expect([address, found]).toEqual([address, expected])
      }
      expect(both.allowHostPorts).toEqual(
        server.allowHostPorts.filter((port) => wire.allow_host_ports?.includes(port) ?? true),
      )
    }),
    { numRuns: rounds(400, 2_000) },
  )
})

test('N2 a policy narrowed after the creation applies to older limits', () => {
  fc.assert(
    fc.property(policy, policy, limits, (before, now, wire) => {
      let own
      try {
        own = parse(wire, before)
      } catch {
        return
      }
      const both = narrowed(now, own)
      for (const address of ADDRESSES)
        if (allows(both.egress, address)) expect(allows(now.egress, address)).toBe(true)
      for (const port of both.allowHostPorts) expect(now.allowHostPorts).toContain(port)
    }),
    { numRuns: rounds(400, 2_000) },
  )
})

test.each([
  [{ egress: 'open' }, 'network.egress: "open" exceeds what the server allows'],
  [{ egress: ['a.example', '10.0.0.0/8'] }, 'network.egress: "10.0.0.0/8" exceeds what the server allows'],
  [{ egress: ['0.0.0.0/0'] }, 'network.egress: "0.0.0.0/0" exceeds'],
  [{ allow_host_ports: [443, 80] }, 'the server does not open port 80 (its network.allow_host_ports: 443)'],
  [{ egress: 'opne!' }, 'network.egress: "opne!" is not one of open, internet, none'],
])('%j is refused below internet and port 443', (wire, message) => {
  expect(() => parse(wire, { egress: 'internet', allowHostPorts: [443] })).toThrow(message)
})

test('names are narrowed by name, and below internet only their public addresses count', () => {
  const server: NetworkPolicy = { egress: ['a.example', 'b.example'], allowHostPorts: [] }
  expect(narrowed(server, parse({ egress: ['A.example'] }, server)).egress).toEqual(['A.example'])
  expect(() => parse({ egress: ['c.example'] }, server)).toThrow('"c.example" exceeds')
  const internet: NetworkPolicy = { egress: 'internet', allowHostPorts: [] }
  expect(narrowed(internet, parse({ egress: ['c.example'] }, internet))).toMatchObject({ isPublicOnly: true })
  expect(narrowed(server, parse({ egress: 'internet' }, server))).toMatchObject({
    egress: server.egress,
    isPublicOnly: true,
  })
})

test('limits are refused where no firewall of this server could enforce them', () => {
  const open: NetworkPolicy = { egress: 'open', allowHostPorts: [] }
  expect(() => parse({ egress: 'none' }, open, false)).toThrow('does not isolate that backend')
  expect(parse({}, open, false)).toBeUndefined()
})
