import { fault } from '../errors.ts'
import { comparable, isAscii } from '../name-form.ts'
import type { LeftOut, LocalFile } from './list-folder.ts'

/** Returns whether a path is one of others, or below it. */
export function areWithin(others: readonly LeftOut[]): (path: string) => boolean {
  const paths = new Set(others.map(({ path }) => comparable(path)))
  return (path) =>
    paths.size > 0 &&
    comparable(path)
      .split('/')
      .some((_, index, segments) => paths.has(segments.slice(0, index + 1).join('/')))
}

/**
 * Returns whether a path that is not among files names one of them in another form of Unicode.
 *
 * @throws PUBLISH_INVALID when two of the files do, since readers could not choose between them
 */
export function areReplacedBy(files: readonly LocalFile[]): (path: string) => boolean {
  const paths = new Map<string, string>()
  for (const { path } of files) {
    if (isAscii(path)) continue
    const form = comparable(path)
    const other = paths.get(form)
    if (other !== undefined)
      throw fault(
        'PUBLISH_INVALID',
        `${escaped(other)} and ${escaped(path)} are the same name in two forms of Unicode; rename or delete one of them`,
      )
    paths.set(form, path)
  }
  return (path) => paths.has(comparable(path))
}

/** Returns a path in quotes, in which forms of Unicode look different. */
function escaped(path: string): string {
  return JSON.stringify(path).replace(
    /[\u0080-\uffff]/g,
    (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
