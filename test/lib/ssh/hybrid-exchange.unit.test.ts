import crypto, {
  createHash,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  randomBytes,
} from 'node:crypto'
import { fc } from '../../support/fast-check.ts'
import { describe, expect, test } from 'vitest'
import { answerHybrid, HYBRID_EXCHANGES } from '../../../src/lib/ssh/hybrid-exchange.ts'

const raw = (key: crypto.KeyObject, bytes: number) =>
  key.export({ type: 'spki', format: 'der' }).subarray(-bytes)

// A client in Go uses it too: test/workspace/faces/ssh/libraries.foreign.test.ts.
describe.skipIf(HYBRID_EXCHANGES.length === 0)('the post-quantum key exchange', () => {
  const lattice = generateKeyPairSync('ml-kem-768')
  const curve = generateKeyPairSync('x25519')
  const clientInit = Buffer.concat([raw(lattice.publicKey, 1184), raw(curve.publicKey, 32)])

  test('gives client and server the same secret, a new one each time', () => {
    const [first, second] = [answerHybrid(clientInit), answerHybrid(clientInit)]
    const prefix = Buffer.from('302a300506032b656e032100', 'hex')
    const serverKey = Buffer.concat([prefix, first.reply.subarray(1088)])
    const publicKey = createPublicKey({ key: serverKey, type: 'spki', format: 'der' })
    const shared = [
      crypto.decapsulate(lattice.privateKey, first.reply.subarray(0, 1088)),
      diffieHellman({ privateKey: curve.privateKey, publicKey }),
    ]
    expect(first.secret).toEqual(createHash('sha256').update(Buffer.concat(shared)).digest())
    expect(first.reply).toHaveLength(1088 + 32)
    expect(second.secret).not.toEqual(first.secret)
  })

  test.each([
    ['an empty message', Buffer.alloc(0)],
    ['a message that lacks a byte', clientInit.subarray(1)],
    ['a message with one byte too many', Buffer.concat([clientInit, Buffer.alloc(1)])],
    [
      'an encapsulation key out of range',
      Buffer.concat([Buffer.alloc(1184, 0xff), clientInit.subarray(1184)]),
    ],
    ['a curve point of small order', Buffer.concat([clientInit.subarray(0, 1184), Buffer.alloc(32)])],
  ])('refuses %s', (_what, message) => {
    expect(() => answerHybrid(message)).toThrow(Error)
  })

  test('answers or refuses random messages, and never anything else', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 3000 }), (length) => {
        try {
          return answerHybrid(randomBytes(length)).secret.length === 32
        } catch (error) {
          return error instanceof Error
        }
      }),
    )
  })
})
