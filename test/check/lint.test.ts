import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const FIXTURE = 'test/fixtures/lint'

test('the linter reports each planted error that vanishes without a reason, outside of tests', () => {
  const config = join(FIXTURE, 'oxlint.json')
  const { stdout } = spawnSync(
    process.execPath,
    ['node_modules/oxlint/bin/oxlint', '-c', config, '-f', 'unix', FIXTURE],
    { encoding: 'utf8' },
  )
  const found = [...stdout.matchAll(/^([^:\s]+:\d+):.*project\(swallowed-errors\)\]$/gm)].map(([, at]) => at)
  const planted = globSync('**/planted.ts', { cwd: FIXTURE }).flatMap((file) =>
    readFileSync(join(FIXTURE, file), 'utf8')
      .split('\n')
      // The comment is in the line before.
      .flatMap((line, i) => (line.endsWith('// reported') ? [`${join(FIXTURE, file)}:${i + 2}`] : [])),
  )
  expect(planted).toHaveLength(28)
  expect(found).toHaveLength(planted.length)
  expect(new Set(found)).toEqual(new Set(planted))
})
