import { realpathSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { packageRoot, packageVersion } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { tempDir } from '../support/temp-dir.ts'

const npxEnvironment = () => ({
  ...process.env,
  // Prevents npx from downloading anything instead of running the checkout's program.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_cache: tempDir(),
})

test(
  'npx workspace runs the program of the checkout without asking a registry',
  { tags: ['long'] },
  async () => {
    const { status, stdout } = await run('npx', ['workspace', '--version'], {
      cwd: packageRoot,
      environment: npxEnvironment(),
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${packageVersion()}\n` })
  },
)

test('the built program is executable and linked where npx looks for it first', () => {
  const link = realpathSync(`${packageRoot}/node_modules/.bin/workspace`)
  expect(link).toBe(`${packageRoot}/dist/src/bin/workspace.js`)
  expect(statSync(link).mode & 0o111).toBe(0o111)
})

test("npx workspace runs on any version of the machine's own Node", { tags: ['long'] }, async () => {
  const ownPath = (process.env['PATH'] ?? '')
    .split(':')
    .filter((directory) => !directory.startsWith(packageRoot))
    .join(':')
  const { status, stdout, stderr } = await run('npx', ['workspace', '--version'], {
    cwd: packageRoot,
    environment: { ...npxEnvironment(), PATH: ownPath },
  })
  expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: `${packageVersion()}\n` })
})
