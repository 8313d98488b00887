import { createHash, randomBytes } from 'node:crypto'

const SECRET_BYTES = 32
const ENCODED = '[A-Za-z0-9_-]{43}'

/** A kind of secrets of programs, such as access tokens, with its own prefix. */
export interface SecretForm {
  readonly create: () => string
  /** Whether a text has the form of such a secret. */
  readonly matches: (text: string) => boolean
  /** Whether such a secret is in a text. */
  readonly isIn: (text: string) => boolean
}

/** Returns the form of secrets that begin with a prefix, by which secret scanners and servers recognize them. */
export function secretForm(prefix: string): SecretForm {
  const form = new RegExp(`^${prefix}_${ENCODED}$`)
  const inside = new RegExp(`(?<![\\w-])${prefix}_${ENCODED}(?![\\w-])`)
  return {
    create: () => `${prefix}_${randomBytes(SECRET_BYTES).toString('base64url')}`,
    matches: (text) => form.test(text),
    isIn: (text) => inside.test(text),
  }
}

/** Returns the key of a secret. Comparing digests instead of secrets also prevents timing attacks. */
export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url')
}
