import { createHash, createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'

// FIDO keys, in the format of OpenSSH's PROTOCOL.u2f.

/** A public key of a FIDO authenticator. */
export interface SecurityKey {
  readonly type: 'sk-ssh-ed25519@openssh.com' | 'sk-ecdsa-sha2-nistp256@openssh.com'
  readonly key: KeyObject
  /** Usually `ssh:`. */
  readonly application: Buffer
}

const ED25519 = 'sk-ssh-ed25519@openssh.com'
const ECDSA = 'sk-ecdsa-sha2-nistp256@openssh.com'
const ED25519_BYTES = 32
const ED25519_SIGNATURE_BYTES = 64
const P256_BYTES = 32
const UNCOMPRESSED_POINT = 0x04
/** Flags and counter, after the signature. */
const TRAILER_BYTES = 5
/** The flag of an authenticator that its user touched. */
const TOUCHED = 0x01

/**
 * Reads a security key.
 *
 * @param type of the key, as the client names it
 * @param blob the key in its wire format
 * @returns undefined for other types
 * @throws Error when the blob is not exactly a key of that type
 */
export function readSecurityKey(type: string, blob: Buffer): SecurityKey | undefined {
  if (type !== ED25519 && type !== ECDSA) return undefined
  const [name, ...fields] = stringsOf(blob)
  if (name?.toString() !== type) throw new Error('it has another type')
  if (type === ED25519) {
    const [point, application, ...excess] = fields
    if (point?.length !== ED25519_BYTES || application === undefined || excess.length > 0)
      throw new Error('its fields are not valid')
    return { type, application, key: fromJwk({ kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') }) }
  }
  const [curve, point, application, ...excess] = fields
  if (curve?.toString() !== 'nistp256' || application === undefined || excess.length > 0)
    throw new Error('its fields are not valid')
  if (point?.length !== 1 + 2 * P256_BYTES || point[0] !== UNCOMPRESSED_POINT)
    throw new Error('its point is not valid')
  const [x, y] = [point.subarray(1, 1 + P256_BYTES), point.subarray(1 + P256_BYTES)]
  const jwk = { kty: 'EC', crv: 'P-256', x: x.toString('base64url'), y: y.toString('base64url') }
  return { type, application, key: fromJwk(jwk) }
}

/**
 * Verifies a signature of a security key. The authenticator signs digests of the application and of the data, and in between
 * its flags and counter, which follow the signature.
 *
 * @param signature without its type: Ed25519's 64 bytes, or ECDSA's r and s as strings; then flags and counter
 * @returns `untouched` for a valid signature for which the user did not touch the authenticator, which OpenSSH's server refuses
 */
export function verifySecurityKey(
  { type, key, application }: SecurityKey,
  signed: Buffer,
  signature: Buffer,
): 'valid' | 'invalid' | 'untouched' {
  const end = signature.length - TRAILER_BYTES
  if (end < 0) return 'invalid'
  const trailer = signature.subarray(end)
  const plain = type === ED25519 ? signature.subarray(0, end) : joined(signature.subarray(0, end))
  if (plain?.length !== ED25519_SIGNATURE_BYTES) return 'invalid'
  const message = Buffer.concat([sha256(application), trailer, sha256(signed)])
  const isValid =
    type === ED25519
      ? verify(null, message, key, plain)
      : verify('sha256', message, { key, dsaEncoding: 'ieee-p1363' }, plain)
  if (!isValid) return 'invalid'
  return ((trailer[0] ?? 0) & TOUCHED) === 0 ? 'untouched' : 'valid'
}

/** Splits a sequence of length-prefixed strings. @throws Error when the last is incomplete */
function stringsOf(bytes: Buffer): readonly Buffer[] {
  const strings: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const start = at + 4
    at = start > bytes.length ? Infinity : start + bytes.readUInt32BE(at)
    if (at > bytes.length) throw new Error('it is cut off')
    strings.push(bytes.subarray(start, at))
  }
  return strings
}

/** Joins r and s, numbers of at most 32 bytes; undefined if they are not. */
function joined(signature: Buffer): Buffer | undefined {
  try {
    const numbers = stringsOf(signature).map((number) => {
      const digits = number.subarray(number.findIndex((byte) => byte !== 0))
      return Buffer.concat([Buffer.alloc(P256_BYTES - digits.length), digits])
    })
    return numbers.length === 2 ? Buffer.concat(numbers) : undefined
  } catch {
    // Cut off, or a number that is too long.
    return undefined
  }
}

function fromJwk(key: JsonWebKey): KeyObject {
  return createPublicKey({ key, format: 'jwk' })
}

function sha256(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes).digest()
}
