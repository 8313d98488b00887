import { statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeDirs } from '../../../src/lib/fs/make-dirs.ts'
import { tempDir } from '../../support/temp-dir.ts'

test('missing directories are created with their mode, and existing ones left unchanged', () => {
  const root = tempDir()
  makeDirs(join(root, 'a/b/c'), 0o700)
  makeDirs(join(root, 'a/b/c'), 0o755)
  for (const path of ['a', 'a/b', 'a/b/c']) expect(statSync(join(root, path)).mode & 0o777).toBe(0o700)
})

test('a directory that cannot be created is an error, not an endless loop', () => {
  const root = tempDir()
  writeFileSync(join(root, 'file'), '')
  symlinkSync(join(root, 'nowhere'), join(root, 'link'))
  expect(() => makeDirs(join(root, 'file/below'))).toThrow(/ENOTDIR|EEXIST/)
  expect(() => makeDirs(join(root, 'link/below'))).toThrow(/EEXIST|ENOENT/)
  // Linux's /proc reports a directory inside an existing one as missing.
  if (process.platform === 'linux') expect(() => makeDirs('/proc/no-such/below')).toThrow('ENOENT')
})
