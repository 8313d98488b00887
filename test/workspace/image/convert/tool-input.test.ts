import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { runTool } from '../../../../src/workspace/image/convert/tool.ts'
import { rounds } from '../../../support/rounds.ts'
import { makeTempDir } from '../../../support/temp-dir.ts'

const directory = makeTempDir()
afterAll(() => directory.remove())
mkdirSync(join(directory.path, 'in'))
writeFileSync(join(directory.path, 'in', 'a'), 'x')
const file = join(directory.path, 'a.tar')
execFileSync('tar', ['-cf', file, '-C', join(directory.path, 'in'), '.'])
const archive = readFileSync(file)

const unpack = (input: PassThrough) =>
  runTool(['tar', '-xf', '-', '-C', directory.path], { what: 'unpacking', package: 'tar', input })

test('a program that has all it needs may exit before its input ends', { tags: ['long'] }, async () => {
  for (let i = 0; i < rounds(20, 60); i++) {
    const input = new PassThrough()
    const unpacked = unpack(input)
    input.write(archive)
    // With every length, in pieces and as a whole: tar stops at the archive's end mark and reads no further.
    for (let piece = 0; piece < i % 20; piece++) {
      input.write(Buffer.alloc(65_536))
      if (piece % 3 === 0) await setImmediate()
    }
    input.end()
    await expect(unpacked).resolves.toBeDefined()
  }
})

test('a truncated input is an error, even beyond what the program needs', async () => {
  const input = new PassThrough()
  const unpacked = unpack(input)
  input.write(archive)
  await setImmediate()
  input.destroy(new Error('the connection ended'))
  await expect(unpacked).rejects.toThrow('unpacking failed')
})
