import { posix } from 'node:path'
import { listOf } from './builder-line.ts'
import type { Instruction } from './read-dockerfile.ts'

/** Program of a RUN. */
export interface RunProgram {
  readonly argv: readonly string[]
  /** Directories that are empty before it and stay empty. */
  readonly mounts: readonly RunMount[]
}

/** A directory of `--mount`, which only its RUN sees. */
interface RunMount {
  readonly path: string
  /** Owner and permission bits, as numbers in a text for `chown` and `chmod`. */
  readonly owner: string
  readonly mode: string
}

const EMPTY_MOUNTS = new Set(['cache', 'tmpfs'])
const MISSING_MOUNTS = new Set(['secret', 'ssh'])
const ID = /^\d{1,9}$/
const MODE = /^[0-7]{3,4}$/

/**
 * Returns the program of a RUN. Mounts for caches are empty, and secrets are absent.
 *
 * @param shell program for a text
 * @param directory directory to which paths are relative
 * @throws Error with a sentence for an option that is not supported
 */
export function runProgram(
  { text, flags, documents, line }: Instruction,
  shell: readonly string[],
  directory: string,
): RunProgram {
  const mounts = flags.flatMap(([flag, value]) => {
    if (flag === 'mount') return mountOf(value, directory, line)
    if (flag === 'network' && value === 'default') return []
    throw new Error(`line ${line}: RUN --${flag}=${value.slice(0, 40)} is not supported`)
  })
  if (text.startsWith('--')) throw new Error(`line ${line}: RUN ${text.slice(0, 40)} is not supported`)
  if (text === '' || text === '[]') throw new Error(`line ${line}: RUN needs a program`)
  const [document] = documents
  if (document === undefined) return { argv: listOf(text) ?? [...shell, text], mounts }
  if (text !== document.word) {
    const rest = documents.map((each) => `\n${each.text}${each.delimiter}`)
    return { argv: [...shell, text + rest.join('')], mounts }
  }
  if (document.text.startsWith('#!')) throw new Error(`line ${line}: RUN with "#!" is not supported`)
  return { argv: [...shell, document.text], mounts }
}

function mountOf(value: string, directory: string, line: number): readonly RunMount[] {
  const options = new Map(
    value.split(',').map((part) => {
      const [key = ''] = part.split('=', 1)
      return [key.toLowerCase(), part.slice(key.length + 1)] as const
    }),
  )
  const type = options.get('type') ?? 'bind'
  if (MISSING_MOUNTS.has(type) && (options.get('required') ?? 'false') === 'false') return []
  const target = options.get('target') ?? options.get('dst') ?? options.get('destination')
  const { uid = '0', gid = '0', mode = '0755' } = Object.fromEntries(options)
  const isValid = ID.test(uid) && ID.test(gid) && MODE.test(mode)
  if (
    !EMPTY_MOUNTS.has(type) ||
    options.has('from') ||
    target === undefined ||
    !isValid ||
    target.includes('$')
  )
    throw new Error(`line ${line}: RUN --mount=${value.slice(0, 80)} is not supported`)
  return [{ path: posix.resolve('/', directory, target), owner: `${uid}:${gid}`, mode }]
}
