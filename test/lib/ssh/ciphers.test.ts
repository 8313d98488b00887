import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ciphersRemedy, refuseUnsafe, sshCiphers } from '../../../src/lib/ssh/ciphers.ts'
import { tempDir } from '../../support/temp-dir.ts'

const require = createRequire(import.meta.url)

test('this checkout has native ciphers', () => {
  expect(sshCiphers()).toBe('compiled')
})

test('unused ciphers are garbage-collected without a crash', () => {
  const addon = require.resolve('ssh2/lib/protocol/crypto/build/Release/sshcrypto.node')
  const script = `
    const { ChaChaPolyCipher, ChaChaPolyDecipher } = require(${JSON.stringify(addon)})
    for (let made = 0; made < 1000; made++) {
      new ChaChaPolyCipher(Buffer.alloc(64))
      new ChaChaPolyDecipher(Buffer.alloc(64))
    }
    setImmediate(() => { gc(); console.log('alive') })`
  expect(execFileSync(process.execPath, ['--expose-gc', '-e', script], { encoding: 'utf8' })).toBe('alive\n')
})

describe('an addon', () => {
  test('that removes cleanup hooks is not loaded', () => {
    const file = join(tempDir(), 'sshcrypto.node')
    writeFileSync(file, '\0_ZN4node28RemoveEnvironmentCleanupHookEPN2v87IsolateEPFvPvES3_\0')
    expect(refuseUnsafe(file)).toBe(true)
    expect(require(file)).toBeNull()
  })

  test('without hooks, or a missing one, is left to ssh2', () => {
    const file = join(tempDir(), 'sshcrypto.node')
    expect(refuseUnsafe(file)).toBe(false)
    writeFileSync(file, '\0_ZN4node11ObjectWrap\0')
    expect(refuseUnsafe(file)).toBe(false)
    expect(() => require(file)).toThrow(/invalid ELF header|file too short|not a mach-o|slice is not valid/)
  })
})

test('the remedy works on the current Node.js', () => {
  expect(ciphersRemedy('24.21.0')).toMatch(/^CXXFLAGS='-include \/.+\/object-wrap\.h' npm rebuild ssh2/)
  expect(ciphersRemedy('26.10.0')).toMatch(/^run on Node\.js 24/)
})
