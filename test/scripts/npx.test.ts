import { realpathSync, statSync } from 'node:fs'
import { expect, test } from 'vitest'
import { packageRoot, packageVersion } from '../../src/lib/process/package.ts'
import { run } from '../../src/lib/process/run.ts'
import { tempDir } from '../support/temp-dir.ts'

const npxEnvironment = () => ({
  ...process.env,
  // Whatever npx would fetch instead of running what is here, it could not.
  npm_config_registry: 'http://127.0.0.1:9/',
  npm_config_cache: tempDir(),
})

test('npx workspace runs the program of the checkout and asks no registry', async () => {
  const { status, stdout } = await run('npx', ['workspace', '--version'], {
    cwd: packageRoot,
    environment: npxEnvironment(),
  })
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${packageVersion()}\n` })
})

test('the built program is executable and linked where npx looks first', () => {
  const link = realpathSync(`${packageRoot}/node_modules/.bin/workspace`)
  expect(link).toBe(`${packageRoot}/dist/src/bin/workspace.js`)
  expect(statSync(link).mode & 0o111).toBe(0o111)
})

test("npx workspace runs on the machine's own Node, whatever its version", async () => {
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
