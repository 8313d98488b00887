import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
// oxlint-disable-next-line no-unassigned-import -- sets the limit
import '../../../src/lib/ssh/ssh2.ts'
import { MAX_PACKET_BYTES } from '../../../src/lib/ssh/packet-size.ts'

interface CryptoModule {
  readonly NullDecipher: new (
    seqno: number,
    onPayload: () => void,
  ) => { decrypt(data: Buffer, from: number, to: number): void }
}

const { NullDecipher } = createRequire(import.meta.url)('ssh2/lib/protocol/crypto.js') as CryptoModule

/** Reads only the length of a packet. */
function readLength(bytes: number): void {
  const head = Buffer.alloc(4)
  head.writeUInt32BE(bytes)
  new NullDecipher(0, () => undefined).decrypt(head, 0, 4)
}

test('a packet may be at most as long as OpenSSH’s', () => {
  expect(() => readLength(35_004)).not.toThrow()
  expect(() => readLength(MAX_PACKET_BYTES - 4)).not.toThrow()
  expect(() => readLength(MAX_PACKET_BYTES + 4)).toThrow('Bad packet length')
})
