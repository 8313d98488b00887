import { posix } from 'node:path'
import { RE2JS } from 're2js'

const MAX_PATTERNS = 500
/** All patterns together. */
const MAX_LENGTH = 8 * 1024

/** Returns whether a path relative to the context is left out. */
export type IsIgnored = (path: string) => boolean

/**
 * Reads a .dockerignore file. The last pattern that matches a path, or a directory that it is in, counts.
 * Source: https://docs.docker.com/build/concepts/context/#dockerignore-files
 *
 * @throws Error with a sentence for a pattern that is not valid, and for too many
 */
export function readDockerignore(text: string): IsIgnored {
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  const given = lines.map((line) => (line.startsWith('#') ? '' : line.trim())).filter((line) => line !== '')
  if (given.length > MAX_PATTERNS || given.join('').length > MAX_LENGTH)
    throw new Error(`.dockerignore has more than ${MAX_PATTERNS} patterns, or they are longer than 8 KiB`)
  const patterns = given.flatMap(patternOf)
  return (path) => patterns.findLast(({ expression }) => expression.matches(path))?.isIgnored ?? false
}

function patternOf(line: string): readonly { readonly isIgnored: boolean; readonly expression: RE2JS }[] {
  const isIgnored = !line.startsWith('!')
  const path = isIgnored ? line : line.slice(1).trim()
  if (path === '') return []
  const clean = posix.normalize(path).replace(/^\/+|\/+$/g, '')
  if (clean === '' || clean === '.') return []
  try {
    return [{ isIgnored, expression: RE2JS.compile(`${expressionOf(clean)}(?:/.*)?`, RE2JS.DOTALL) }]
  } catch {
    throw new Error(`the pattern ${line.slice(0, 80)} of .dockerignore is not valid`)
  }
}

/** Returns the regular expression of a pattern, in which `**` stands for any number of directories. */
function expressionOf(pattern: string): string {
  return pattern.replaceAll(/\*\*\/?|\*|\?|\\.|\[[^\]]*\]|[^*?\\[]+|./gs, (part, at: number) => {
    if (part.startsWith('**')) return at + part.length === pattern.length ? '.*' : '(?:.*/)?'
    if (part === '*') return '[^/]*'
    if (part === '?') return '[^/]'
    if (part.length > 1 && part.startsWith('[')) return part
    return RE2JS.quote(part.length > 1 && part.startsWith('\\') ? part.slice(1) : part)
  })
}
