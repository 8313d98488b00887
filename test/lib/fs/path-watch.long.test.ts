import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { PathWatch } from '../../../src/lib/fs/path-watch.ts'
import { fc } from '../../support/fast-check.ts'
import { rounds } from '../../support/rounds.ts'
import { tempDir } from '../../support/temp-dir.ts'
import { waitFor } from '../../support/wait-for.ts'

const WATCHED = ['w', 'l/x', 'p/x/y'] as const
/** Paths that are directories, links or files by turns; most are not watched. */
const PATHS = ['w', 'l', 'p', 'o'].flatMap((top) => [top, `${top}/x`, `${top}/f`, `${top}/x/y`, `${top}/x/f`])
const anyPath = fc.constantFrom(...PATHS)
const operation = fc.tuple(
  fc.constantFrom('write', 'make', 'move', 'link', 'remove', 'change mode'),
  anyPath,
  anyPath,
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
    if (what === 'move' && existsSync(at)) {
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

/** The definition: a path, and the files below it, with their identities. No directory is entered within itself. */
function filesAt(at: string, above: readonly string[] = []): readonly string[] {
  let stats
  try {
    stats = statSync(at, { bigint: true })
  } catch {
    return []
  }
  const id = `${stats.dev}:${stats.ino}:${stats.birthtimeNs}`
  if (!stats.isDirectory()) return [`${at} ${id} ${stats.mtimeNs}`]
  if (above.includes(id)) return []
  const below = readdirSync(at).flatMap((name) => filesAt(join(at, name), [...above, id]))
  return above.length === 0 ? [`${at} ${id}`, ...below] : below
}

test('a change is reported when there are other files at the paths', { timeout: 600_000 }, async () => {
  const sequences = fc.sample(fc.array(operation, { minLength: 20, maxLength: 60 }), rounds(50, 400))
  for (const operations of sequences) {
    const dir = tempDir()
    const reports: string[] = []
    const watch = new PathWatch(
      (each) => reports.push(each),
      (error) => expect(error).toBeUndefined(),
      { followsLinks: true },
    )
    onTestFinished(() => watch.close())
    const extent = { isTree: true, accepts: () => true }
    for (const each of WATCHED) watch.add(join(dir, each), extent)
    const marks = join(dir, 'marks')
    mkdirSync(marks)
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
    rmSync(dir, { recursive: true })
  }
})
