import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { tempDir } from '../support/temp-dir.ts'

test('the documentation site builds without broken links and shows the proof of each promise', async () => {
  const site = join(tempDir(), 'site')
  const { status, stderr } = await run(join(packageRoot, 'scripts/site'), [site])
  expect(status, stderr).toBe(0)
  expect(existsSync(join(site, 'docs/workspace/torture/index.html'))).toBe(true)
  const page = readFileSync(join(site, 'proofs/index.html'), 'utf8')
  const promises = readFileSync(join(packageRoot, 'SPECIFICATION.md'), 'utf8').matchAll(/^\| ([A-Z]\d+) \|/gm)
  for (const [, id = ''] of promises) {
    expect(page).toContain(`href="#${id.toLowerCase()}"`)
    expect(page).toContain(`id="${id.toLowerCase()}"`)
  }
  expect(readFileSync(join(site, 'SPECIFICATION/index.html'), 'utf8')).toContain('href="../proofs/"')
})
