import { execFileSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package.ts'
import { flock } from '../../../src/native/files/lock-file.ts'
import { tempDir } from '../../support/temp-dir.ts'

/** Returns what another process gets when it requests the lock, with the addon (`on`) or without (`off`). */
function askElsewhere(file: string, kind: string, native: 'on' | 'off'): unknown {
  const program = `
    import { openSync } from 'node:fs'
    import { flock } from ${JSON.stringify(join(packageRoot, 'src/native/files/lock-file.ts'))}
    console.log(JSON.stringify(await flock(openSync(process.argv[1], 'a'), process.argv[2])))`
  const argv = ['--input-type=module', '-e', program, file, kind]
  const env = { ...process.env, WORKSPACE_NATIVE: native }
  return JSON.parse(execFileSync(process.execPath, argv, { encoding: 'utf8', env }))
}

test.each(['on', 'off'] as const)('a lock is the same for a process with the addon %s', async (native) => {
  const file = join(tempDir(), 'lock')
  const fd = openSync(file, 'a')
  expect(await flock(fd, 'alone')).toBe(true)
  expect(askElsewhere(file, 'alone', native)).toBe(false)
  expect(askElsewhere(file, 'shared', native)).toBe(false)
  expect(await flock(fd, 'shared')).toBe(true)
  expect(askElsewhere(file, 'shared', native)).toBe(true)
  expect(askElsewhere(file, 'alone', native)).toBe(false)
  closeSync(fd)
  expect(askElsewhere(file, 'alone', native)).toBe(true)
})

test('a second descriptor in the same process is a separate owner', async () => {
  const file = join(tempDir(), 'lock')
  const [first, second] = [openSync(file, 'a'), openSync(file, 'a')]
  expect(await flock(first, 'alone')).toBe(true)
  expect(await flock(second, 'alone')).toBe(false)
  closeSync(first)
  expect(await flock(second, 'alone')).toBe(true)
  closeSync(second)
})

test('an invalid descriptor is an error', async () => {
  await expect(flock(9_999, 'alone')).rejects.toMatchObject({ code: 'EBADF', syscall: 'flock' })
})
