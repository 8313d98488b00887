import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirs } from '../../../src/lib/fs/make-dirs.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('what is missing is made, with its mode, and what is there is left', () => {
  const root = tempDir()
  makeDirs(join(root, 'a/b/c'), 0o700)
  makeDirs(join(root, 'a/b/c'), 0o755)
  for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, path)).mode & 0o777).toBe(0o700)
})

test('what cannot be made is an error, and not one asked for without end', () => {
  const root = tempDir()
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  expect(() => makeDirs(join(root, 'file/below'))).toThrow(/ENOTDIR|EEXIST/)
  expect(() => makeDirs(join(root, 'link/below'))).toThrow(/EEXIST|ENOENT/)
  // Linux's /proc says of a directory in one that is there that it is not.
  if (process.platform === 'linux') expect(() => makeDirs('/proc/no-such/below')).toThrow('ENOENT')
})
