import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/process/package.ts'
import { tempDir } from '../support/temp-dir.ts'

/** Returns a checkout in a folder with spaces, with the Node.js and headers that configuring a native build needs. */
function checkoutWithSpaces(): string {
  const root = join(tempDir(), 'my own checkout')
  for (const path of ['binding.gyp', 'package.json', 'scripts', 'node_modules/node-addon-api'])
    cpSync(join(packageRoot, path), join(root, path), { recursive: true })
  mkdirSync(join(root, '.node/node_modules'), { recursive: true })
  symlinkSync(dirname(dirname(process.execPath)), join(root, '.node/node_modules/node'))
  symlinkSync(join(packageRoot, 'node_modules/.bin'), join(root, 'node_modules/.bin'))
  return root
}

test('the makefiles of a native build contain no path of a checkout with spaces', () => {
  const root = checkoutWithSpaces()
  execFileSync(join(root, 'scripts/on-node'), ['node-gyp', 'configure'], { cwd: root, stdio: 'pipe' })
  const makefiles = globSync('build/*.target.mk', { cwd: root })
  expect(makefiles.length).toBeGreaterThan(3)
  for (const file of makefiles)
    expect(readFileSync(join(root, file), 'utf8')).not.toContain('my own checkout')
})
