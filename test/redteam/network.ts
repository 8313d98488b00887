import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import type { Backend } from '../../src/workspace/backend/backend.ts'
import type { Outcome } from './attack.ts'
import type { Hit } from './canary.ts'
import { arp, ethernet, ethernet as frameOf, ipv4, ipv6, routerAdvertisement, udp } from './frames.ts'
import { ADDRESSES } from './namespaces.ts'

const probe = readFileSync(join(import.meta.dirname, 'guest/probe.pl'), 'utf8')
const canary = readFileSync(join(import.meta.dirname, 'guest/canary.pl'), 'utf8')
/** How long a packet that was sent last may take to its canary. */
const SETTLE_MS = 1_000

/** Where canaries listen: on every address, and on the loopback interface alone. */
export const PORT = 7_777
export const LOOPBACK_PORT = 7_778
/** Opened by `network.allow_host_ports` in this run. */
export const OPEN_PORT = 7_779

/** A workspace in which the attacker has root. */
export interface Guest {
  readonly kind: 'container' | 'vm-user' | 'vm-tap'
  readonly name: string
  readonly backend: Backend
  /** Its own address, and its router's. */
  readonly address: string
  readonly gateway: string
  readonly mac: string
  /** Its router's MAC, which forged frames go to. */
  readonly gatewayMac: string
}

/** A neighbor's workspace with a canary inside. */
export interface Neighbor {
  readonly name: string
  readonly address: string
  readonly mac: string
  readonly hits: () => Promise<string>
}

export interface NetworkParts {
  readonly guest: Guest
  readonly neighbors: readonly Neighbor[]
  /** Further addresses of the host's, by what they are. */
  readonly hostAddresses: Readonly<Record<string, string>>
  readonly servicePorts: Readonly<Record<string, number>>
  readonly hits: readonly Hit[]
}

/** Something to try: a line for the guest's tool, and what tells whether it arrived besides the canaries. */
interface Try {
  readonly key: string
  readonly tries: string
  readonly line: string
  /** Whether the guest's own result shows that something answered. */
  readonly isReachedBy?: RegExp
}

export async function runInside(
  guest: Pick<Guest, 'backend' | 'name'>,
  argv: readonly string[],
  input = '',
): Promise<string> {
  const program = await guest.backend.exec(guest.name, { argv, user: '0' })
  program.stdin.on('error', () => undefined)
  program.stdin.end(input)
  const [out, error] = await Promise.all([text(program.stdout), text(program.stderr)])
  const { status } = await program.exitStatus
  if (status !== 0)
    throw new Error(
      `${argv.slice(0, 2).join(' ')} in ${guest.name} ended with ${status}: ${error.slice(0, 500)}`,
    )
  return out
}

/** Starts a canary inside a workspace; returns how to read what has reached it. */
export async function startNeighborCanary(
  guest: Pick<Guest, 'backend' | 'name'>,
): Promise<() => Promise<string>> {
  const program = await guest.backend.exec(guest.name, {
    argv: ['perl', '-e', canary, String(PORT), '/tmp/hits'],
    user: '0',
    stdin: false,
  })
  await new Promise((resolve) => program.stdout.once('data', resolve))
  return () => runInside(guest, ['cat', '/tmp/hits'])
}

/** Plays every network attack from one guest at once, and reports each. Rejects when the guest reaches nothing that it may reach. */
export async function attackNetwork(parts: NetworkParts, report: (outcome: Outcome) => void): Promise<void> {
  const { guest, neighbors, hits } = parts
  const prefix = `${guest.kind}/`
  const controls = [
    { id: `${prefix}control-tcp`, line: `tcp ${prefix}control-tcp ${ADDRESSES.internet} ${PORT}` },
    { id: `${prefix}control-open`, line: `tcp ${prefix}control-open ${guest.gateway} ${OPEN_PORT}` },
  ]
  if (guest.kind !== 'container') {
    // As all the others, but nothing in it is forged.
    const id = `${prefix}control-frame`
    const packet = ipv4({ source: guest.address, destination: ADDRESSES.internet, body: udp(PORT, id) })
    controls.push({
      id,
      line: `frame ${id} ${ethernet(guest.mac, 0x0800, packet, guest.gatewayMac).toString('hex')}`,
    })
  }
  const tries = [...connections(parts), ...(guest.kind === 'container' ? rawSockets(parts) : frames(parts))]
  const pingsBefore = echoes()
  const lines = [...controls.map(({ line }) => line), ...tries.map(({ line }) => line)]
  const output = await runInside(guest, ['perl', '-e', probe], `${lines.join('\n')}\n`)
  await delay(SETTLE_MS)
  const results = new Map(
    output
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf(' ')), line.slice(line.indexOf(' ') + 1)] as const),
  )
  for (const { id } of controls) {
    if (!hits.some((hit) => hit.id === id))
      throw new Error(
        `the attacker's tool reaches nothing at all: ${id} ${results.get(id) ?? 'was not played'}`,
      )
  }
  const inNeighbors = (await Promise.all(neighbors.map(({ hits: read }) => read()))).join('\n')
  for (const { key, tries: what, line, isReachedBy } of tries) {
    const id = prefix + key
    const seen = results.get(id) ?? 'not played'
    const hit = hits.find((each) => each.id === id)
    const isReached =
      hit !== undefined ||
      inNeighbors.includes(id) ||
      seen === 'not played' ||
      (isReachedBy?.test(seen) ?? false)
    report({
      attack: { id, tries: what },
      isReached,
      seen: hit === undefined ? seen : `${hit.canary} heard it`,
    })
    if (line.startsWith('tcp') && seen === 'connected' && !isReached)
      throw new Error(`${id} connected to something that is no canary`)
  }
  for (const { id, tries: what, isReached, seen } of traces(parts, pingsBefore))
    report({ attack: { id: prefix + id, tries: what }, isReached, seen })
}

function connections({ guest, neighbors, hostAddresses, servicePorts }: NetworkParts): readonly Try[] {
  const targets: readonly (readonly [string, string])[] = [
    ['gateway', guest.gateway],
    ['host', ADDRESSES.host],
    ['host-second', ADDRESSES.second],
    ['host-v6', ADDRESSES.hostV6],
    ['foreign-bridge', ADDRESSES.foreignBridge],
    ['foreign-container', ADDRESSES.foreign],
    ['metadata', ADDRESSES.metadata],
    ['zero', '0.0.0.0'],
    ...Object.entries(hostAddresses),
    ...neighbors.map(({ name, address }) => [`neighbor-${name}`, address] as const),
  ]
  const both = targets.flatMap(([what, address]) =>
    (['tcp', 'udp'] as const).map((protocol) => ({
      key: `${protocol}/${what}`,
      tries: `${protocol.toUpperCase()} to ${what} ${address}`,
      line: `${protocol} ${guest.kind}/${protocol}/${what} ${address} ${PORT}`,
      isReachedBy: /^(?:connected|answered)/,
    })),
  )
  const broadcasts = [
    ['broadcast', '255.255.255.255'],
    ['multicast', '224.0.0.251'],
    ['multicast-v6', 'ff02::1%2'],
  ].map(([what = '', address = '']) => ({
    key: `udp/${what}`,
    tries: `UDP to ${what} ${address}`,
    line: `udp ${guest.kind}/udp/${what} ${address} ${PORT}`,
    isReachedBy: /^answered/,
  }))
  const services = Object.entries({ ...servicePorts, loopback: LOOPBACK_PORT }).flatMap(([what, port]) =>
    [guest.gateway, ADDRESSES.host].map((address, i) => ({
      key: `service/${what}-${i}`,
      tries: `the ${what} port ${port} at ${address}`,
      line: `tcp ${guest.kind}/service/${what}-${i} ${address} ${port}`,
      isReachedBy: /^connected/,
    })),
  )
  return [...both, ...broadcasts, ...services]
}

/** What a container can only do with raw sockets, which it must not have. */
function rawSockets({ guest }: NetworkParts): readonly Try[] {
  const frame = ethernet(
    '02:00:00:00:0b:ad',
    0x0806,
    arp({ operation: 2, sender: guest.gateway, senderMac: '02:00:00:00:0b:ad', target: guest.address }),
  )
  return [
    {
      key: 'raw/frame',
      tries: 'a frame of its own making',
      line: `frame ${guest.kind}/raw/frame ${frame.toString('hex')}`,
      isReachedBy: /^sent/,
    },
    ...[1, 47, 132, 4, 255].map((protocol) => ({
      key: `raw/protocol-${protocol}`,
      tries: `a raw socket of protocol ${protocol}`,
      line: `raw ${guest.kind}/raw/protocol-${protocol} ${guest.gateway} ${protocol} 0800f7ff00000000`,
      isReachedBy: /^sent/,
    })),
  ]
}

/** Frames that a machine's root writes byte by byte. */
function frames({ guest, neighbors }: NetworkParts): readonly Try[] {
  const { mac, address, gateway } = guest
  const ethernet = (source: string, type: number, body: Buffer, destination = guest.gatewayMac) =>
    frameOf(source, type, body, destination)
  const neighbor = neighbors.find(({ address: each }) => each.startsWith('10.213.')) ?? neighbors[0]
  const other = neighbor?.address ?? '10.0.2.99'
  const otherMac = neighbor?.mac ?? '06:00:00:00:0b:ad'
  const id = (key: string) => `${guest.kind}/frame/${key}`
  const to = (key: string, destination: string, more: object = {}) =>
    ethernet(mac, 0x0800, ipv4({ source: address, destination, body: udp(PORT, id(key)), ...more }))
  const hostV6 = Buffer.from('fd070000000000000000000000000002', 'hex')
  const ownV6 = Buffer.from('fd070000000000000000000000000bad', 'hex')
  const all: Readonly<Record<string, readonly [string, Buffer]>> = {
    'source-of-neighbor': [
      'a datagram to the internet in a neighbor’s name',
      ethernet(
        mac,
        0x0800,
        ipv4({ source: other, destination: ADDRESSES.internet, body: udp(PORT, id('source-of-neighbor')) }),
      ),
    ],
    'source-of-host': [
      'a datagram to the internet in the host’s name',
      ethernet(
        mac,
        0x0800,
        ipv4({
          source: ADDRESSES.host,
          destination: ADDRESSES.internet,
          body: udp(PORT, id('source-of-host')),
        }),
      ),
    ],
    'source-of-lan': [
      'a datagram to the internet in the name of a host of the private network',
      ethernet(
        mac,
        0x0800,
        ipv4({
          source: ADDRESSES.lan,
          destination: ADDRESSES.internet,
          body: udp(PORT, id('source-of-lan')),
        }),
      ),
    ],
    'mac-of-neighbor': [
      'a datagram to the internet from a neighbor’s MAC',
      ethernet(
        otherMac,
        0x0800,
        ipv4({ source: address, destination: ADDRESSES.internet, body: udp(PORT, id('mac-of-neighbor')) }),
      ),
    ],
    'mac-unknown': [
      'a datagram to the internet from an unknown MAC',
      ethernet(
        '02:00:00:00:0b:ad',
        0x0800,
        ipv4({ source: address, destination: ADDRESSES.internet, body: udp(PORT, id('mac-unknown')) }),
      ),
    ],
    land: [
      'a datagram to the host from the host’s own address',
      ethernet(
        mac,
        0x0800,
        ipv4({ source: ADDRESSES.host, destination: ADDRESSES.host, body: udp(PORT, id('land')) }),
      ),
    ],
    loopback: ['a datagram to 127.0.0.1 on the wire', to('loopback', '127.0.0.1')],
    'loopback-high': ['a datagram to 127.255.255.254 on the wire', to('loopback-high', '127.255.255.254')],
    'loopback-source': [
      'a datagram to the host from 127.0.0.1',
      ethernet(
        mac,
        0x0800,
        ipv4({ source: '127.0.0.1', destination: gateway, body: udp(PORT, id('loopback-source')) }),
      ),
    ],
    'zero-source': [
      'a datagram to the host from 0.0.0.0',
      ethernet(
        mac,
        0x0800,
        ipv4({ source: '0.0.0.0', destination: gateway, body: udp(PORT, id('zero-source')) }),
      ),
    ],
    'source-route': [
      'a source route by the internet to the host',
      to('source-route', ADDRESSES.internet, {
        options: Buffer.from([131, 7, 4, ...ADDRESSES.host.split('.').map(Number), 0]),
      }),
    ],
    options: [
      'an IP option to the host',
      to('options', ADDRESSES.host, { options: Buffer.from([1, 1, 1, 0]) }),
    ],
    'fragment-first': [
      'a first fragment to the open port',
      to('fragment-first', gateway, { fragment: 0x2000 }),
    ],
    'fragment-later': ['a later fragment to the host', to('fragment-later', ADDRESSES.host, { fragment: 1 })],
    'length-short': [
      'a packet shorter than its header says',
      to('length-short', ADDRESSES.host, { totalLength: 4_000 }),
    ],
    'length-zero': ['a packet of no length', to('length-zero', ADDRESSES.host, { totalLength: 0 })],
    'version-6': ['version 6 in an IPv4 frame', to('version-6', ADDRESSES.host, { version: 6 })],
    vlan: [
      'a VLAN tag',
      ethernet(
        mac,
        0x8100,
        Buffer.concat([
          Buffer.from([0, 1, 8, 0]),
          ipv4({ source: address, destination: ADDRESSES.host, body: udp(PORT, id('vlan')) }),
        ]),
      ),
    ],
    'vlan-twice': [
      'two VLAN tags',
      ethernet(
        mac,
        0x88a8,
        Buffer.concat([
          Buffer.from([0, 1, 0x81, 0, 0, 1, 8, 0]),
          ipv4({ source: address, destination: ADDRESSES.host, body: udp(PORT, id('vlan-twice')) }),
        ]),
      ),
    ],
    llc: [
      'an 802.3 frame',
      ethernet(mac, 64, ipv4({ source: address, destination: ADDRESSES.host, body: udp(PORT, id('llc')) })),
    ],
    ipip: [
      'a packet to the host inside another',
      to('ipip', ADDRESSES.host, {
        protocol: 4,
        body: ipv4({ source: address, destination: ADDRESSES.host, body: udp(PORT, id('ipip')) }),
      }),
    ],
    gre: [
      'GRE to the host',
      to('gre', ADDRESSES.host, {
        protocol: 47,
        body: Buffer.concat([
          Buffer.from([0, 0, 8, 0]),
          ipv4({ source: address, destination: ADDRESSES.host, body: udp(PORT, id('gre')) }),
        ]),
      }),
    ],
    sctp: ['SCTP to the host', to('sctp', ADDRESSES.host, { protocol: 132 })],
    'udp-v6': [
      'IPv6 to the host',
      ethernet(mac, 0x86dd, ipv6(ownV6, hostV6, 17, udp(PORT, id('udp-v6'))), '33:33:00:00:00:01'),
    ],
    'dns-other-port': [
      'the resolver’s address at another port',
      to('dns-other-port', guest.kind === 'vm-user' ? '10.0.2.3' : gateway),
    ],
    'own-subnet': [
      'an address of its own subnet',
      to('own-subnet', guest.kind === 'vm-user' ? '10.0.2.77' : other),
    ],
    'broadcast-subnet': [
      'the broadcast address of the host’s network',
      to('broadcast-subnet', '198.18.7.255'),
    ],
  }
  const silent: Readonly<Record<string, Buffer>> = {
    'router-advertisement': ethernet(mac, 0x86dd, routerAdvertisement(PREFIX), '33:33:00:00:00:01'),
    'arp-neighbor': ethernet(
      mac,
      0x0806,
      arp({ operation: 2, sender: other, senderMac: mac, target: gateway }),
    ),
    'arp-neighbor-mac': ethernet(
      otherMac,
      0x0806,
      arp({ operation: 2, sender: other, senderMac: mac, target: gateway }),
    ),
    'arp-gateway': ethernet(
      mac,
      0x0806,
      arp({ operation: 2, sender: gateway, senderMac: mac, target: other }),
    ),
    'arp-request': ethernet(
      mac,
      0x0806,
      arp({ operation: 1, sender: other, senderMac: mac, target: gateway }),
    ),
    ping: ethernet(
      mac,
      0x0800,
      ipv4({
        source: address,
        destination: ADDRESSES.host,
        protocol: 1,
        body: Buffer.from('0800f7ff00000000', 'hex'),
      }),
    ),
    'ping-gateway': ethernet(
      mac,
      0x0800,
      ipv4({
        source: address,
        destination: gateway,
        protocol: 1,
        body: Buffer.from('0800f7ff00000000', 'hex'),
      }),
    ),
  }
  const line = (key: string, frame: Buffer) => `frame ${id(key)} ${frame.toString('hex')}`
  return [
    ...Object.entries(all).map(([key, [tries, frame]]) => ({
      key: `frame/${key}`,
      tries,
      line: line(key, frame),
    })),
    ...Object.entries(silent).map(([key, frame]) => ({
      key: `frame/${key}`,
      tries: `sends ${key.replaceAll('-', ' ')}`,
      line: line(key, frame),
    })),
  ]
}

const PREFIX = Buffer.from('20010db80bad00000000000000000000', 'hex')

/** What attacks would leave behind on the host although no canary heard them. */
function traces({ guest, neighbors }: NetworkParts, pingsBefore: number) {
  if (guest.kind === 'container') return []
  const neighborTable = command('ip', 'neigh')
  const stolen = neighbors.filter(({ address }) =>
    new RegExp(`^${address} .*${guest.mac}`, 'm').test(neighborTable),
  )
  const routes = command('ip', '-6', 'route') + command('ip', '-6', 'addr')
  const pings = echoes() - pingsBefore
  return [
    {
      id: 'trace/neighbor-table',
      tries: 'a neighbor’s address at the attacker’s MAC',
      isReached: stolen.length > 0,
      seen: `${stolen.length} entries`,
    },
    {
      id: 'trace/router',
      tries: 'the host takes the guest for a router',
      isReached: routes.includes('2001:db8:bad'),
      seen: 'routes and addresses',
    },
    {
      id: 'trace/echo',
      tries: 'the host answers a ping',
      isReached: pings > 0,
      seen: `${pings} echo requests`,
    },
    {
      id: 'trace/mac',
      tries: 'a MAC of another port in the bridge’s table',
      isReached: hasForeignMac(guest, neighbors),
      seen: 'forwarding table',
    },
  ]
}

/** The bridge must know each neighbor's MAC at its own port alone. */
function hasForeignMac({ name }: Guest, neighbors: readonly Neighbor[]): boolean {
  const table = command('bridge', 'fdb', 'show')
  const device = deviceOf(name)
  return (
    device !== undefined && neighbors.some(({ mac }) => mac !== '' && table.includes(`${mac} dev ${device}`))
  )
}

const devices = new Map<string, string>()
export function noteDevice(name: string, id: string): void {
  devices.set(name, `wst${id}`)
}
function deviceOf(name: string): string | undefined {
  return devices.get(name)
}

/** Echo requests that this network namespace has received. Source: proc(5), /proc/net/snmp. */
function echoes(): number {
  const [names = '', values = ''] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Icmp:'))
  return Number(values.split(' ')[names.split(' ').indexOf('InEchos')])
}

function command(program: string, ...argv: readonly string[]): string {
  return execFileSync(program, argv, { encoding: 'utf8' })
}
