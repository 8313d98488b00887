/** Builders of raw frames. Addresses are text, everything else is numbers. */

const bytesOf = (address: string): Buffer => Buffer.from(address.split('.').map(Number))
const macOf = (mac: string): Buffer => Buffer.from(mac.replaceAll(':', ''), 'hex')
export const BROADCAST = 'ff:ff:ff:ff:ff:ff'

export function ethernet(source: string, type: number, body: Buffer, destination = BROADCAST): Buffer {
  const typeBytes = Buffer.alloc(2)
  typeBytes.writeUInt16BE(type)
  return Buffer.concat([macOf(destination), macOf(source), typeBytes, body])
}

export interface Ipv4Parts {
  readonly source: string
  readonly destination: string
  readonly protocol?: number
  readonly body: Buffer
  readonly options?: Buffer
  readonly fragment?: number
  readonly version?: number
  readonly totalLength?: number
}

export function ipv4(parts: Ipv4Parts): Buffer {
  const {
    source,
    destination,
    protocol = 17,
    body,
    options = Buffer.alloc(0),
    fragment = 0,
    version = 4,
  } = parts
  const header = Buffer.alloc(20 + options.length)
  header[0] = (version << 4) | (header.length / 4)
  header.writeUInt16BE(parts.totalLength ?? header.length + body.length, 2)
  header.writeUInt16BE(4242, 4)
  header.writeUInt16BE(fragment, 6)
  header[8] = 64
  header[9] = protocol
  bytesOf(source).copy(header, 12)
  bytesOf(destination).copy(header, 16)
  options.copy(header, 20)
  header.writeUInt16BE(checksum(header), 10)
  return Buffer.concat([header, body])
}

export function udp(port: number, payload: string): Buffer {
  const body = Buffer.alloc(8 + Buffer.byteLength(payload))
  body.writeUInt16BE(40_000, 0)
  body.writeUInt16BE(port, 2)
  body.writeUInt16BE(body.length, 4)
  body.write(payload, 8)
  return body
}

export function arp(parts: {
  readonly operation: 1 | 2
  readonly sender: string
  readonly senderMac: string
  readonly target: string
}): Buffer {
  const head = Buffer.from([0, 1, 8, 0, 6, 4, 0, parts.operation])
  return Buffer.concat([
    head,
    macOf(parts.senderMac),
    bytesOf(parts.sender),
    macOf(BROADCAST),
    bytesOf(parts.target),
  ])
}

/** A router advertisement for a prefix, from a link-local address. Source: RFC 4861, 4.2. */
export function routerAdvertisement(prefix: Buffer): Buffer {
  const body = Buffer.alloc(48)
  body[0] = 134
  body[4] = 64
  body.writeUInt16BE(1800, 6)
  body.set([3, 4, 64, 0xc0], 16)
  body.writeUInt32BE(86_400, 20)
  body.writeUInt32BE(86_400, 24)
  prefix.copy(body, 32)
  const source = Buffer.from('fe800000000000000000000000000bad', 'hex')
  const destination = Buffer.from('ff020000000000000000000000000001', 'hex')
  const pseudo = Buffer.concat([source, destination, Buffer.from([0, 0, 0, body.length, 0, 0, 0, 58])])
  body.writeUInt16BE(checksum(Buffer.concat([pseudo, body])), 2)
  return ipv6(source, destination, 58, body)
}

export function ipv6(source: Buffer, destination: Buffer, next: number, body: Buffer): Buffer {
  const header = Buffer.alloc(8)
  header[0] = 0x60
  header.writeUInt16BE(body.length, 4)
  header[6] = next
  header[7] = 255
  return Buffer.concat([header, source, destination, body])
}

function checksum(bytes: Buffer): number {
  let sum = 0
  for (let i = 0; i < bytes.length; i += 2) sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  return ~sum & 0xffff
}
