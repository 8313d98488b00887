import { execFileSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempDir } from '../temp-dir.ts'

/** Whether this tester may mount. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0

const ENVIRONMENT = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }

/** A file system of a kind on a file of its own, mounted; goes with the test. */
export function mountFileSystem(
  kind: 'ext4' | 'xfs' | 'btrfs',
  bytes = 400 * 2 ** 20,
  ...flags: string[]
): string {
  const file = join(tempDir(), 'disk.img')
  const path = join(tempDir(), 'mounted')
  writeFileSync(file, '')
  truncateSync(file, bytes)
  execFileSync(`mkfs.${kind}`, [kind === 'ext4' ? '-F' : '-f', '-q', ...flags, file], {
    env: ENVIRONMENT,
    stdio: 'ignore',
  })
  mkdirSync(path)
  execFileSync('mount', ['-o', 'loop', file, path])
  onTestFinished(() => void execFileSync('umount', ['-l', path]))
  return path
}

/** A file system of so many bytes in memory, mounted; goes with the test. */
export function mountMemory(bytes: number): string {
  const path = tempDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  onTestFinished(() => void execFileSync('umount', ['-l', path]))
  return path
}

/** Runs a program of the system's administrator. */
export function admin(program: string, ...argv: readonly string[]): string {
  return execFileSync(program, argv, {
    env: ENVIRONMENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}
