import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { fault } from '../../errors.ts'

const PLACES = ['/usr/sbin/mke2fs', '/sbin/mke2fs', '/usr/bin/mke2fs', '/bin/mke2fs'] as const

/** Returns the path of this machine's mke2fs; undefined when it is not installed. */
export function findMke2fs(): string | undefined {
  return PLACES.find((path) => existsSync(path))
}

/**
 * Returns this machine's mke2fs and its libraries as files of an initrd, because an image may not contain
 * any. Paths have no leading slash. Synchronous: for worker threads.
 *
 * @throws BACKEND_ERROR when mke2fs is not installed or ldd fails
 */
export function formatterFiles(): readonly { readonly path: string; readonly content: Buffer }[] {
  const program = findMke2fs()
  if (program === undefined) throw fault('BACKEND_ERROR', 'mke2fs is not installed; install e2fsprogs')
  const files = [{ path: 'sbin/mke2fs', content: readFileSync(realpathSync(program)) }]
  for (const { name, file } of librariesOf(program)) files.push({ path: name, content: readFileSync(file) })
  return files
}

/**
 * Returns the libraries of a program: the loader under the name that the program uses, the others where that
 * loader searches.
 */
function librariesOf(program: string): readonly { readonly name: string; readonly file: string }[] {
  let lines: readonly string[]
  try {
    lines = execFileSync('ldd', [program], { encoding: 'utf8', env: { LC_ALL: 'C' } }).split('\n')
  } catch (error) {
    // A statically linked program is fine.
    if ((error as { stdout?: string }).stdout?.includes('not a dynamic') === true) return []
    throw fault('BACKEND_ERROR', `ldd cannot list the libraries of ${program}: ${messageOf(error)}`, error)
  }
  return lines.flatMap((line) => {
    const linked = /^\s*(\S+) => (\/\S+) \(/.exec(line)
    if (linked?.[2] !== undefined) return [{ name: `lib/${basename(linked[1] ?? '')}`, file: linked[2] }]
    const loader = /^\s*(\/\S+) \(/.exec(line)?.[1]
    return loader === undefined ? [] : [{ name: loader.slice(1), file: loader }]
  })
}
