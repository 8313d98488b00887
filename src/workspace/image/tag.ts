import { fault } from '../errors.ts'

const TAG = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/
const DIGEST = /^sha256:[0-9a-f]{64}$/

/**
 * Validates an image tag, which is also a file name: 1 to 63 lower-case letters, digits, dots, hyphens and
 * underscores, a letter or digit at both ends, no two dots in a row.
 *
 * @throws INVALID_REQUEST when it is not valid (threat W5)
 */
export function parseTag(value: unknown): string {
  if (typeof value === 'string' && isTag(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault(
    'INVALID_REQUEST',
    `image tag ${shown} must be 1 to 63 lower-case letters, digits, dots, hyphens or underscores, ` +
      'start and end with a letter or digit, and contain no two dots in a row',
  )
}

/** Returns whether a text is a valid tag. One ending in `.tmp` would look like the remains of a crash. */
export function isTag(text: string): boolean {
  return TAG.test(text) && !text.includes('..') && !text.endsWith('.tmp')
}

/** Returns whether a text is an image digest: `sha256:` and 64 hexadecimal digits. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

/** Derives a tag from the last part of a reference. */
export function tagOfReference(reference: string): string {
  const [name = ''] = reference.split('@')
  const tag = name
    .slice(name.lastIndexOf('/') + 1)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63)
    .replace(/-+$/, '')
  return parseTag(tag)
}
