import crypto, { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { createRequire } from 'node:module'
import type { KexAlgorithm } from 'ssh2'
import { patchSsh2 } from './patch-ssh2.ts'

// ssh2's types do not know it.
const NAME = 'mlkem768x25519-sha256' as string as KexAlgorithm
const ENCAPSULATION_KEY_BYTES = 1184
const X25519_BYTES = 32
/** DER of SubjectPublicKeyInfo up to the key: RFC 9935 and RFC 8410. */
const ML_KEM_768_PREFIX = Buffer.from('308204b2300b0609608648016503040402038204a100', 'hex')
const X25519_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')

const require = createRequire(import.meta.url)

/** Methods of an ssh2 1.17.0 key exchange that a server calls, in this order. */
interface Exchange {
  convertPublicKey(key: Buffer): Buffer
  computeSecret(clientInit: Buffer): Buffer | Error
  getPublicKey(): Buffer
}

/** The post-quantum key exchange as a list for ssh2, empty where Node.js has no ML-KEM (before 24.7 or OpenSSL 3.5). */
export const HYBRID_EXCHANGES: readonly KexAlgorithm[] = hasMlKem() ? [NAME] : []

/**
 * Adds the post-quantum key exchange `mlkem768x25519-sha256` to ssh2's servers: clients since OpenSSH 10.1 warn about servers
 * without one. Source: draft-ietf-sshm-mlkem-hybrid-kex.
 */
export function addHybridExchange(): void {
  if (HYBRID_EXCHANGES.length === 0) return
  const { SUPPORTED_KEX } = require('ssh2/lib/protocol/constants.js') as { readonly SUPPORTED_KEX: string[] }
  SUPPORTED_KEX.push(NAME)
  const known = "        case 'curve25519-sha256':\n"
  const added = `        case '${NAME}': return asHybrid(new Curve25519Exchange('sha256', ...args));\n`
  patchSsh2('ssh2/lib/protocol/kex.js', known, `${added}${known}`, { asHybrid })
}

/** Turns the server's side of a Curve25519 exchange into the hybrid one: SHA-256, and values that are strings, not numbers. */
function asHybrid<T extends Exchange>(exchange: T): T {
  let reply: Buffer | undefined
  exchange.convertPublicKey = (key) => key
  exchange.computeSecret = (clientInit) => {
    try {
      const answer = answerHybrid(clientInit)
      reply = answer.reply
      return answer.secret
    } catch (error) {
      return error as Error
    }
  }
  exchange.getPublicKey = () => {
    if (reply === undefined) throw new Error('the secret is computed first')
    return reply
  }
  return exchange
}

/**
 * Computes a server's answer to a client's `C_INIT`.
 *
 * @throws Error when a key is malformed or weak
 */
export function answerHybrid(clientInit: Buffer): { readonly secret: Buffer; readonly reply: Buffer } {
  if (clientInit.length !== ENCAPSULATION_KEY_BYTES + X25519_BYTES)
    throw new Error('C_INIT has a wrong length')
  const encapsulationKey = publicKey(ML_KEM_768_PREFIX, clientInit.subarray(0, ENCAPSULATION_KEY_BYTES))
  const { sharedKey, ciphertext } = crypto.encapsulate(encapsulationKey)
  const own = generateKeyPairSync('x25519')
  const theirs = publicKey(X25519_PREFIX, clientInit.subarray(ENCAPSULATION_KEY_BYTES))
  const classical = diffieHellman({ privateKey: own.privateKey, publicKey: theirs })
  const ownKey = own.publicKey.export({ type: 'spki', format: 'der' }).subarray(X25519_PREFIX.length)
  return {
    secret: createHash('sha256').update(sharedKey).update(classical).digest(),
    reply: Buffer.concat([ciphertext, ownKey]),
  }
}

function publicKey(prefix: Buffer, key: Buffer): crypto.KeyObject {
  return createPublicKey({ key: Buffer.concat([prefix, key]), type: 'spki', format: 'der' })
}

function hasMlKem(): boolean {
  try {
    return typeof crypto.encapsulate === 'function' && crypto.generateKeyPairSync('ml-kem-768') !== undefined
  } catch {
    return false
  }
}
