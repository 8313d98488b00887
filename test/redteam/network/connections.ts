import { ADDRESSES } from './namespaces.ts'
import { arp, ethernet } from './packets.ts'
import { LOOPBACK_PORT, PORT, type Surroundings, type Try } from './parts.ts'

/** Connections and datagrams to every destination a guest must not reach. */
export function connections({ guest, neighbors, hostAddresses, servicePorts }: Surroundings): readonly Try[] {
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
      id: `${protocol}/${what}`,
      tries: `${protocol.toUpperCase()} to ${what}`,
      line: `${protocol} ${guest.kind}/${protocol}/${what} ${address} ${PORT}`,
      isReachedBy: /^(?:connected|answered)/,
    })),
  )
  const broadcasts = [
    ['broadcast', '255.255.255.255'],
    ['multicast', '224.0.0.251'],
    ['multicast-v6', 'ff02::1%2'],
  ].map(([what = '', address = '']) => ({
    id: `udp/${what}`,
    tries: `UDP to ${what}`,
    line: `udp ${guest.kind}/udp/${what} ${address} ${PORT}`,
    isReachedBy: /^answered/,
  }))
  const services = Object.entries({ ...servicePorts, loopback: LOOPBACK_PORT }).flatMap(([what, port]) =>
    [guest.gateway, ADDRESSES.host].map((address, i) => ({
      id: `service/${what}-${i}`,
      tries: `the ${what} port at the ${i === 0 ? 'gateway' : 'host'}`,
      line: `tcp ${guest.kind}/service/${what}-${i} ${address} ${port}`,
      isReachedBy: /^connected/,
    })),
  )
  return [...both, ...broadcasts, ...services]
}

/** Attacks that require raw sockets, which a container must not have. */
export function rawSockets({ guest }: Surroundings): readonly Try[] {
  const frame = ethernet(
    '02:00:00:00:0b:ad',
    0x0806,
    arp({ operation: 2, sender: guest.gateway, senderMac: '02:00:00:00:0b:ad', target: guest.address }),
  )
  return [
    {
      id: 'raw/frame',
      tries: 'a forged frame',
      line: `frame ${guest.kind}/raw/frame ${frame.toString('hex')}`,
      isReachedBy: /^sent/,
    },
    ...[1, 47, 132, 4, 255].map((protocol) => ({
      id: `raw/protocol-${protocol}`,
      tries: `a raw socket of protocol ${protocol}`,
      line: `raw ${guest.kind}/raw/protocol-${protocol} ${guest.gateway} ${protocol} 0800f7ff00000000`,
      isReachedBy: /^sent/,
    })),
  ]
}
