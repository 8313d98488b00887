import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isWithin } from '../../../src/lib/fs/is-within.ts'
import { PathWatch } from '../../../src/lib/fs/path-watch.ts'
import { fc } from '../../support/fast-check.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const WATCHED = ['w', 'l/x', 'p/x/y'] as const
/** Paths that are directories, links or files by turns; most are not watched. */
const PATHS = ['w', 'l', 'p', 'o'].flatMap((top) => [top, `${top}/x`, `${top}/f`, `${top}/x/y`, `${top}/x/f`])
const extent = { isTree: true, accepts: () => true }
const anyPath = fc.constantFrom(...PATHS)
const operation = fc.tuple(
  fc.constantFrom('write', 'make', 'move', 'link', 'remove', 'change mode'),
  anyPath,
  fc.oneof({ arbitrary: anyPath, weight: 9 }, { arbitrary: fc.constant('.'), weight: 1 }),
)

/** Applies an operation, or nothing where the system refuses it. */
function apply(dir: string, [what, first, second]: readonly [string, string, string], content: string): void {
  const [at, other] = [join(dir, first), join(dir, second)]
  try {
    if (what === 'change mode') {
      if (statSync(at).isDirectory()) chmodSync(at, 0o700 + (content.length % 2) * 0o55)
      return
    }
    if (what !== 'write' && what !== 'move') rmSync(at, { recursive: true, force: true })
    if (what !== 'remove') mkdirSync(dirname(at), { recursive: true })
    if (what === 'write') writeFileSync(at, content)
    if (what === 'link') symlinkSync(other, at)
    if (what === 'move' && other !== dir && existsSync(at)) {
      rmSync(other, { recursive: true, force: true })
      renameSync(at, other)
    }
    if (what !== 'make') return
    mkdirSync(at)
    writeFileSync(join(at, 'f'), content)
  } catch (error) {
    expect(error).toHaveProperty('code')
  }
}

/**
 * The definition: a path, and the files below it, with their identities and paths without symbolic links. No link to a
 * directory that contains it is entered.
 */
function filesAt(at: string, above: readonly string[] = []): readonly string[] {
  let stats
  try {
    stats = statSync(at, { bigint: true })
  } catch {
    return []
  }
  const real = realpathSync(at)
  const text = `${at} ${real} ${stats.dev}:${stats.ino}:${stats.birthtimeNs}`
  if (!stats.isDirectory()) return [`${text} ${stats.mtimeNs}`]
  if (lstatSync(at).isSymbolicLink() && above.some((each) => isWithin(each, real))) return []
  const below = readdirSync(at).flatMap((name) => filesAt(join(at, name), [...above, real]))
  return above.length === 0 ? [text, ...below] : below
}

test(
  'directories stay watched when more events arrive than the system keeps',
  { timeout: 60_000 },
  async () => {
    const dir = tempDir()
    const changed = new Set<string>()
    const watch = new PathWatch(
      (path) => changed.add(path),
      (why) => expect(why).toBeUndefined(),
      { followsLinks: true },
    )
    onTestFinished(() => watch.close())
    watch.add(dir, extent)
    for (let at = 0; at < 20_000; at++) writeFileSync(join(dir, `before-${at}`), '')
    const files = Array.from({ length: 100 }, (_, at) => join(dir, `late-${at}`, 'file'))
    for (const file of files) mkdirSync(dirname(file))
    await waitFor('a watch of each directory', () => watch.count === 1 + files.length)
    for (const file of files) writeFileSync(file, '')
    await waitFor('all files', () => files.every((file) => changed.has(file)))
  },
)

test('a change is reported when there are other files at the paths', { timeout: 600_000 }, async () => {
  const sequences = fc.sample(fc.array(operation, { minLength: 20, maxLength: 60 }), rounds(50, 400))
  for (const operations of sequences) {
    const dir = tempDir()
    const reports: string[] = []
    const watch = new PathWatch(
      (each) => reports.push(each),
      (why) => expect(why).toBeUndefined(),
      { followsLinks: true },
    )
    onTestFinished(() => watch.close())
    for (const each of WATCHED) watch.add(join(dir, each), extent)
    const marks = tempDir()
    watch.add(marks, extent)
    const history: unknown[] = []
    for (const [at, each] of operations.entries()) {
      const before = WATCHED.flatMap((root) => filesAt(join(dir, root)))
      apply(dir, each, `${at}`)
      const after = WATCHED.flatMap((root) => filesAt(join(dir, root)))
      const mark = join(marks, String(at))
      writeFileSync(mark, '')
      // Changes are reported in their order.
      await waitFor('the mark', () => reports.includes(mark))
      history.push(each)
      const paths = reports.splice(0)
      const isReported = paths.some((path) => !path.startsWith(marks))
      // The system reports a directory's new mode as it does a replaced file of the same name in it.
      if (each[0] === 'change mode' && isReported) continue
      const isChanged = before.join() !== after.join()
      expect({ history, paths, isReported }).toEqual({ history, paths, isReported: isChanged })
    }
    watch.close()
    for (const each of [dir, marks]) rmSync(each, { recursive: true })
  }
})
