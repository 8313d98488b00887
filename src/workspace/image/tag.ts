import { fault } from '../errors.ts'

const TAG = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/
const DIGEST = /^sha256:[0-9a-f]{64}$/

/**
 * An image's tag, which is the name of a file: 1 to 63 lower-case letters, digits, dots, hyphens and underscores, a
 * letter or digit at both ends, no two dots in a row.
 *
 * @throws INVALID_REQUEST (threat W5)
 */
export function parseTag(value: unknown): string {
  if (typeof value === 'string' && isTag(value)) return value
  const shown = typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : String(value)
  throw fault(
    'INVALID_REQUEST',
    `image tag ${shown} must be 1 to 63 lower-case letters, digits, dots, hyphens and underscores, ` +
      'begin and end with a letter or digit, and hold no two dots in a row',
  )
}

/** A tag ending in `.tmp` would look like what a crash leaves behind. */
export function isTag(text: string): boolean {
  return TAG.test(text) && !text.includes('..') && !text.endsWith('.tmp')
}

/** Whether a text is an image's digest: `sha256:` and 64 hexadecimal digits. */
export function isDigest(text: string): boolean {
  return DIGEST.test(text)
}

/** The tag that an image gets when it is given none: the last part of its reference and what follows that. */
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
