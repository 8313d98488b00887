import { execFileSync } from 'node:child_process'
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { tempDir } from '../temp-dir.ts'
import { waitFor } from '../wait-for.ts'

/** Whether the current user may mount file systems. */
export const canMount = process.platform === 'linux' && process.getuid?.() === 0

const ENVIRONMENT = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin:/sbin` }

/** Mounts a file system of the given type on a separate file until the test ends. */
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

/** Mounts an in-memory file system of the given size until the test ends. */
export function mountMemory(bytes: number): string {
  const path = tempDir()
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path])
  onTestFinished(() => void execFileSync('umount', ['-l', path]))
  return path
}

/**
 * Unmounts a file system on a loop device, and waits until it has written everything to its file: a container that
 * starts meanwhile in another namespace holds the mount a little longer.
 */
export async function unmountLoop(path: string, file: string): Promise<void> {
  admin('umount', path)
  await waitFor('its loop device to be free', () => admin('losetup', '-j', file) === '')
}

/** Runs a system administration program. */
export function admin(program: string, ...argv: readonly string[]): string {
  return execFileSync(program, argv, {
    env: ENVIRONMENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
}
