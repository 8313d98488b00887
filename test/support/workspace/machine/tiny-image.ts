import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Pool } from '../../../../src/lib/pool/pool.ts'
import { convert, type Converter } from '../../../../src/workspace/image/convert/convert.ts'
import type { Manifest } from '../../../../src/workspace/image/manifest.ts'
import { tarSource } from '../../../../src/workspace/image/source/tar-source.ts'
import { onTestFinished } from 'vitest'
import { openStore } from './images.ts'
import { tempDir } from '../../temp-dir.ts'
import { testKernel } from '../../vm/vm-parts.ts'
import { systemClock } from '../../../../src/lib/clock/clock.ts'

/** Syncs all disks and powers the VM off, from a shell with hardly any other program. */
export const POWER_OFF = 'sync; echo o > /proc/sysrq-trigger; while read -r _ < /dev/console; do :; done'

/** A tree with only a shell, `sync` and their libraries. */
export function tinyTree(above = tempDir()): string {
  const tree = join(above, 'tiny')
  for (const directory of ['bin', 'etc', 'proc', 'dev', 'sys', 'tmp'])
    mkdirSync(join(tree, directory), { recursive: true })
  const libraries = execFileSync('ldd', ['/bin/sh'], { encoding: 'utf8' }).matchAll(/(\/\S+) \(/g)
  for (const [, file = ''] of [[undefined, '/bin/sh'], [undefined, '/bin/sync'], ...libraries]) {
    mkdirSync(dirname(join(tree, file)), { recursive: true })
    copyFileSync(file, join(tree, file))
  }
  writeFileSync(join(tree, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\n')
  return tree
}

/** The tree as an archive owned by root, no matter who runs the test. */
export function pack(tree: string, ...options: readonly string[]): string {
  const archive = `${tree}.tar`
  execFileSync('tar', ['-C', tree, '--owner=0', '--group=0', ...options, '-cf', archive, '.'])
  return archive
}

/** Replaces the guest programs: an init that is a shell script. */
export function guestDir(script: string, above = tempDir()): string {
  const directory = join(above, 'guest')
  mkdirSync(join(directory, 'units'), { recursive: true })
  writeFileSync(join(directory, 'init'), `#!/bin/sh\n${script}\n`)
  chmodSync(join(directory, 'init'), 0o755)
  writeFileSync(
    join(directory, 'units/workspace-agent.service'),
    '[Service]\nExecStart=/opt/workspace/node\n[Install]\nWantedBy=multi-user.target\n',
  )
  return directory
}

/** Dependencies of a conversion, with a separate store per test. */
export async function converter(options: Partial<Converter> = {}): Promise<Converter> {
  const { file, modules } = testKernel()
  return {
    store: options.store ?? (await openStore()),
    backend: 'qemu',
    pool: options.pool ?? ownPool(),
    kernel: { file, modules },
    guestDir: options.guestDir ?? guestDir(POWER_OFF),
    clock: systemClock,
    ...options,
  }
}

function ownPool(): Pool {
  const pool = new Pool({ name: 'image' })
  onTestFinished(() => pool.close())
  return pool
}

/** Converts an archive and returns the progress messages. */
export async function convertTar(
  parts: Converter,
  archive: string,
  signal?: AbortSignal,
): Promise<{ readonly manifest: Manifest; readonly messages: readonly string[] }> {
  const messages: string[] = []
  const source = await tarSource(archive, parts)
  const manifest = await convert(parts, source, { progress: (message) => messages.push(message), signal })
  await source.close()
  return { manifest, messages }
}
