import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDir } from '../support/temp-dir.ts'

test('results name only commits of this history', () => {
  const file = join(tempDir(), 'RESULTS.md')
  const head = spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout.trim()
  writeFileSync(
    file,
    `## disk/usage, 2026-11-21, ${head}\n\n## bus/load, 2026-11-21, 0badf00d\n\n1234567 events\n`,
  )
  const { status, stderr } = spawnSync(process.execPath, ['scripts/check-results.ts', file], {
    encoding: 'utf8',
  })
  expect(stderr).toMatch(/^\S+: commit 0badf00d is not in this history; .*\n$/)
  expect(status).toBe(1)
})
