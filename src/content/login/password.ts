import * as crypto from 'node:crypto'
import { promisify } from 'node:util'

/** OWASP's minimum for scrypt, in the common form $scrypt$ln=17,r=8,p=1$salt$hash. */
const SCRYPT = { costBits: 17, blockSize: 8, parallelism: 1 } as const
const SALT_BYTES = 16
const HASH_BYTES = 32
/** Maximum cost of any configured hash: 1 GiB. */
const MAX_MEMORY_BYTES = 2 ** 30

const scrypt = promisify<string, Buffer, number, crypto.ScryptOptions, Buffer>(crypto.scrypt)

/** Returns a password's hash in the PHC string format, with scrypt, which every Node.js supports. */
export async function hashPassword(password: string): Promise<string> {
  const salt = crypto.randomBytes(SALT_BYTES)
  const hash = await scryptHash(password, salt, HASH_BYTES, SCRYPT)
  const { costBits, blockSize, parallelism } = SCRYPT
  return `$scrypt$ln=${costBits},r=${blockSize},p=${parallelism}$${encode(salt)}$${encode(hash)}`
}

/** Whether a text is a hash of a supported kind: scrypt, or argon2id from Node.js 24.7 on. */
export function isPasswordHash(text: string): boolean {
  return parse(text) !== undefined
}

/** Whether a password matches a hash; an invalid hash matches none. */
export async function isPasswordOf(password: string, text: string): Promise<boolean> {
  const parsed = parse(text)
  if (parsed === undefined) return false
  const hash = await parsed.compute(password)
  return crypto.timingSafeEqual(hash, parsed.hash)
}

interface Parsed {
  readonly hash: Buffer
  readonly compute: (password: string) => Promise<Buffer>
}

const SCRYPT_TEXT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
const ARGON2_TEXT =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

function parse(text: string): Parsed | undefined {
  const [, first, second, third, saltText = '', hashText = ''] =
    SCRYPT_TEXT.exec(text) ?? ARGON2_TEXT.exec(text) ?? []
  const salt = Buffer.from(saltText, 'base64')
  const hash = Buffer.from(hashText, 'base64')
  const [a, b, c] = [Number(first), Number(second), Number(third)]
  if (salt.length < 8 || hash.length < 16 || !(a > 0) || !(b > 0) || !(c > 0)) return undefined
  if (text.startsWith('$scrypt$')) {
    if (a > 30 || 128 * b * 2 ** a > MAX_MEMORY_BYTES) return undefined
    const cost = { costBits: a, blockSize: b, parallelism: c }
    return { hash, compute: (password) => scryptHash(password, salt, hash.length, cost) }
  }
  if (a * 1024 > MAX_MEMORY_BYTES || typeof crypto.argon2 !== 'function') return undefined
  return { hash, compute: (password) => argon2Hash(password, salt, hash.length, a, b, c) }
}

function scryptHash(
  password: string,
  salt: Buffer,
  bytes: number,
  cost: { readonly costBits: number; readonly blockSize: number; readonly parallelism: number },
): Promise<Buffer> {
  const memory = 128 * cost.blockSize * 2 ** cost.costBits
  return scrypt(normal(password), salt, bytes, {
    N: 2 ** cost.costBits,
    r: cost.blockSize,
    p: cost.parallelism,
    maxmem: 2 * memory,
  })
}

function argon2Hash(
  password: string,
  nonce: Buffer,
  tagLength: number,
  memory: number,
  passes: number,
  parallelism: number,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    crypto.argon2(
      'argon2id',
      { message: normal(password), nonce, tagLength, memory, passes, parallelism },
      (error, hash) => (error === null ? resolve(hash) : reject(error)),
    )
  })
}

/** Normalizes a password: keyboards differ in how they compose a letter. */
function normal(password: string): string {
  return password.normalize('NFKC')
}

function encode(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
