import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { findAddon } from '../../src/native/load.ts'

const disk = new URL('../../src/native/files/disk.ts', import.meta.url).href

it('findAddon returns the reason when WORKSPACE_NATIVE is off', () => {
  expect(findAddon({ WORKSPACE_NATIVE: 'off' })).toEqual({
    is: 'absent',
    reason: 'WORKSPACE_NATIVE is "off"',
  })
})

it('findAddon prefers the build of the checkout', () => {
  expect(findAddon({})).toMatchObject({ file: expect.stringMatching(/build.Release/) as unknown })
})

it('walkTrees warns once when it falls back to JavaScript', () => {
  const program = `
    import { walkTrees } from ${JSON.stringify(disk)}
    process.on('warning', (warning) => console.log(warning.code, warning.message))
    for (let i = 0; i < 3; i++) void walkTrees([${JSON.stringify(import.meta.dirname)}])`
  const out = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
    env: { ...process.env, WORKSPACE_NATIVE: 'off' },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  expect(out).toBe(
    'WORKSPACE_NATIVE_FALLBACK walkTrees runs in JavaScript, which is slower: WORKSPACE_NATIVE is "off"\n',
  )
})
