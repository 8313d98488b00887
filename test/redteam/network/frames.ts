import { ADDRESSES } from './namespaces.ts'
import { arp, ethernet as frameOf, ipv4, ipv6, routerAdvertisement, udp } from './packets.ts'
import { PORT, type Surroundings, type Try } from './parts.ts'

/** Frames that root in a machine writes byte by byte. */
export function frames({ guest, neighbors }: Surroundings): readonly Try[] {
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
      'a packet shorter than its header declares',
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
      'an address in its own subnet',
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
      id: `frame/${key}`,
      tries,
      line: line(key, frame),
    })),
    ...Object.entries(silent).map(([key, frame]) => ({
      id: `frame/${key}`,
      tries: `sends ${key.replaceAll('-', ' ')}`,
      line: line(key, frame),
    })),
  ]
}

const PREFIX = Buffer.from('20010db80bad00000000000000000000', 'hex')
