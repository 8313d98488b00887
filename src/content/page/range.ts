import type { ByteRange } from '../store/store.ts'

/**
 * Parses a range header with one range (RFC 9110). Returns `none` if the whole object must be sent (no header,
 * another unit, several ranges, a syntax error), and `unsatisfiable` if the range is beyond its end.
 */
export function parseRange(header: string | undefined, size: number): ByteRange | 'none' | 'unsatisfiable' {
  const [, first = '', last = ''] =
    /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(' ', '') ?? '') ?? []
  if (first === '' && last === '') return 'none'
  if (first === '') {
    const length = Math.min(Number(last), size)
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return 'none'
  if (Number(first) >= size) return 'unsatisfiable'
  return { first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
