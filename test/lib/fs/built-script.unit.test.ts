import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { readBuiltScript } from '../../../src/lib/fs/built-script.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('a missing script is an error with the build command, until it is built', () => {
  const file = join(tempDir(), 'page.js')
  const url = pathToFileURL(file)
  expect(() => readBuiltScript(url)).toThrow(
    expect.objectContaining({
      code: 'PAGE_NOT_BUILT',
      kind: 'unavailable',
      message: 'the script of this page is not built: run "npm run build"',
    }) as Error,
  )
  writeFileSync(file, 'start()')
  expect(readBuiltScript(url)).toBe('start()')
})
