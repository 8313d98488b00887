import type { Duplex } from 'node:stream'

const WAIT_MS = 2_000
const RANDOM_BYTES = 32
/** ECDHE and RSA with AES-GCM, which all servers of TLS 1.2 know or refuse with an alert. */
const CIPHERS = Buffer.from('c02fc030009c009d', 'hex')
const RECORD_TYPES = new Set([0x15, 0x16])
const MAJOR_VERSION = 3

/**
 * Returns whether the far side of a connection speaks TLS: it then answers a ClientHello by a handshake or an alert. Sends no
 * other byte, and destroys the connection. Source: RFC 5246, sections 6.2.1 and 7.4.1.2.
 */
export async function speaksTls(connection: Duplex): Promise<boolean> {
  const limit = setTimeout(() => connection.destroy(), WAIT_MS)
  connection.on('error', () => undefined)
  try {
    connection.write(clientHello())
    const seen: number[] = []
    for await (const chunk of connection as AsyncIterable<Buffer>) {
      seen.push(...chunk.subarray(0, 2 - seen.length))
      if (seen.length === 2) break
    }
    return isTlsRecord(seen)
  } catch {
    // Without an answer it is unknown, and the caller has a failure to report anyway.
    return false
  } finally {
    clearTimeout(limit)
    connection.destroy()
  }
}

/** Returns whether bytes begin with a handshake or an alert of TLS. */
export function isTlsRecord([type = 0, version]: Iterable<number>): boolean {
  return RECORD_TYPES.has(type) && version === MAJOR_VERSION
}

function clientHello(): Buffer {
  const version = [MAJOR_VERSION, 3]
  const noSession = [0]
  const noCompression = [1, 0]
  const random = Buffer.alloc(RANDOM_BYTES, 0x77)
  const ciphers = [0, CIPHERS.length, ...CIPHERS]
  const body = Buffer.from([...version, ...random, ...noSession, ...ciphers, ...noCompression])
  const handshake = Buffer.from([1, 0, 0, body.length, ...body])
  return Buffer.from([0x16, MAJOR_VERSION, 1, 0, handshake.length, ...handshake])
}
