import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { run } from '../../../src/lib/process/run.ts'

const PRIORITY = join(packageRoot, 'src/lib/process/priority.ts')
const RUN = join(packageRoot, 'src/lib/process/run.ts')
const PROGRAM = `
  import { getPriority } from 'node:os'
  import { raisePriority } from ${JSON.stringify(PRIORITY)}
  import { run } from ${JSON.stringify(RUN)}
  const before = getPriority()
  raisePriority()
  const { stdout } = await run('nice', [])
  console.log(JSON.stringify({ before, raised: getPriority(), child: Number(stdout) }))`

const play = async (program: string, ...argv: readonly string[]) => {
  const { stdout, stderr } = await run(program, [
    ...argv,
    process.execPath,
    '--input-type=module',
    '--eval',
    PROGRAM,
  ])
  expect(stderr).toBe('')
  return JSON.parse(stdout) as { readonly before: number; readonly raised: number; readonly child: number }
}

test.runIf(process.getuid?.() === 0)(
  'a raised process starts programs with the priority it had',
  async () => {
    const { before, raised, child } = await play('nice', '-n', '3')
    expect(raised).toBe(before - 10)
    expect(child).toBe(before)
  },
)

test.runIf(process.getuid?.() === 0)('a process that may not be raised goes on as it was', async () => {
  const { before, raised, child } = await play('setpriv', '--bounding-set=-sys_nice', '--inh-caps=-all', '--')
  expect(raised).toBe(before)
  expect(child).toBe(before)
})

test('every file of the server that starts programs does so with the priority it began with', () => {
  const files = ['src/lib', 'src/workspace'].flatMap((folder) =>
    globSync('**/*.ts', { cwd: join(packageRoot, folder) }).map((file) => join(folder, file)),
  )
  // The command line is its user's own, and inside a sandbox there is nothing raised.
  const others = /faces\/cli\/|image\/convert\/(?:decompress|formatter-files)\.ts$|process\/fitting-node\.ts$/
  const starters = files.filter(
    (file) =>
      !others.test(file) &&
      /import .*\b(?:spawn|fork|execFile)(?:Sync)?\b.* from 'node:child_process'/.test(
        readFileSync(join(packageRoot, file), 'utf8'),
      ),
  )
  expect(starters.length).toBeGreaterThan(4)
  for (const file of starters)
    expect(readFileSync(join(packageRoot, file), 'utf8'), file).toContain('atBasePriority(')
})
