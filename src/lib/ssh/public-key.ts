import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { messageOf } from '../errors/message.ts'
import { fingerprintOf } from './fingerprint.ts'
import { readSecurityKey, verifySecurityKey } from './security-key.ts'
import ssh2 from './ssh2.ts'

/** Result of verifying a signature: `untouched` if it is valid, but its security key was not touched for it. */
type Verdict = 'valid' | 'invalid' | 'untouched'

/** A public key that can log in. */
interface LoginKey {
  /**
   * Verifies a signature as ssh2 reports it: without its type, and in DER for ECDSA, but not for security keys.
   *
   * @param hash the hash of an RSA signature
   */
  readonly verify: (signed: Buffer, signature: Buffer, hash?: string) => Verdict
}

/** A key, or the reason why it cannot log in: a clause that names its type and the remedy. */
type KeyReading =
  { readonly is: 'usable'; readonly key: LoginKey } | { readonly is: 'unusable'; readonly reason: string }

/** Hashes of the key types that ssh2 reads. */
const HASHES = new Map([
  ['ssh-ed25519', null],
  ['ecdsa-sha2-nistp256', 'sha256'],
  ['ecdsa-sha2-nistp384', 'sha384'],
  ['ecdsa-sha2-nistp521', 'sha512'],
  // Unless the signature names another one; libssh2 before 1.11 does not.
  ['ssh-rsa', 'sha1'],
])
const CERTIFICATE = /-cert-v0\d@openssh\.com$/
/** Like OpenSSH's RequiredRSASize. */
const MIN_RSA_BITS = 1024
const LOGGED_TYPE_LENGTH = 60
const USABLE_TYPES = 'an ed25519, ecdsa, rsa, ed25519-sk or ecdsa-sk key'

/**
 * Reads a public key of every type that OpenSSH's server accepts.
 *
 * @param type as the client or the file names it
 * @param blob the key in its wire format
 */
export function readKey(type: string, blob: Buffer): KeyReading {
  if (CERTIFICATE.test(type))
    return unusable(
      `${named(type)} is a certificate, and no certificate authority is trusted: use the plain key`,
    )
  if (type === 'ssh-dss') return unusable(`ssh-dss keys are too weak: use ${USABLE_TYPES}`)
  try {
    const security = readSecurityKey(type, blob)
    if (security !== undefined)
      return usable((signed, signature) => verifySecurityKey(security, signed, signature))
    const hash = HASHES.get(type)
    if (hash === undefined) return unusable(`key type ${named(type)} is not supported: use ${USABLE_TYPES}`)
    const key = readPlainKey(type, blob)
    const bits = key.asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS
    if (bits < MIN_RSA_BITS)
      return unusable(`RSA keys of ${bits} bits are too weak: use one of at least ${MIN_RSA_BITS} bits`)
    return usable((signed, signature, rsaHash) =>
      verify(rsaHash ?? hash, signed, key, signature) ? 'valid' : 'invalid',
    )
  } catch (error) {
    return unusable(`the ${type} key is damaged (${messageOf(error)}): copy its public key again`)
  }
}

/** Whether a word is, or looks like, the type of a key: no option of authorized_keys does. */
export function isKeyType(word: string): boolean {
  return /^(?:ssh|ecdsa|sk|rsa|webauthn)-/.test(word)
}

/** A public key. */
export interface PublicKey {
  /** As in a line of authorized_keys, without a comment. */
  readonly publicKey: string
  readonly fingerprint: string
}

/**
 * Parses the content of a .pub file.
 *
 * @returns the key, or the reason why it cannot be used
 */
export function parsePublicKey(line: string): PublicKey | string {
  const text = line.trim()
  const { type, blob } = keyFields(text)
  if (blob === undefined || text.includes('\n')) return 'it is not a line such as "ssh-ed25519 AAAA… comment"'
  const reading = readKey(type, blob)
  if (reading.is === 'unusable') return reading.reason
  return { publicKey: `${type} ${blob.toString('base64')}`, fingerprint: fingerprintOf(blob) }
}

/** Splits `type base64 comment`; without a blob unless the first word is a key type and the second is base64. */
export function keyFields(text: string): { readonly type: string; readonly blob: Buffer | undefined } {
  const [type = '', base64 = ''] = text.split(/[ \t]+/, 2)
  const isKey = isKeyType(type) && base64.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(base64)
  return { type, blob: isKey ? Buffer.from(base64, 'base64') : undefined }
}

/** @throws Error when the blob is not exactly a key of that type */
function readPlainKey(type: string, blob: Buffer): KeyObject {
  const key = ssh2.utils.parseKey(`${type} ${blob.toString('base64')}`)
  if (key instanceof Error) throw key
  // ssh2 ignores what follows a key, and the name of its curve; each variant would have another fingerprint.
  if (!key.getPublicSSH().equals(blob)) throw new Error('it has excess bytes')
  return createPublicKey(key.getPublicPEM())
}

function usable(check: LoginKey['verify']): KeyReading {
  return { is: 'usable', key: { verify: check } }
}

function unusable(reason: string): KeyReading {
  return { is: 'unusable', reason }
}

function named(type: string): string {
  return JSON.stringify(type.slice(0, LOGGED_TYPE_LENGTH))
}
