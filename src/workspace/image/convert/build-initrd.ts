import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { gzipSync } from 'node:zlib'
import { findInit } from '../../../native/programs/init.ts'
import { fault } from '../../errors.ts'
import { cpioArchive, type CpioEntry } from './cpio.ts'
import { formatterFiles } from './formatter-files.ts'
import { modulesToLoad } from './kernel-modules.ts'

/** Mount points of `native/init`. */
const MOUNT_POINTS = ['dev', 'proc', 'sys', 'lower', 'upper', 'new', 'format'] as const

/**
 * Builds the initrd for VMs with one kernel: our init, the modules it loads, and the formatter for uppers.
 * The output is reproducible. `moduleFile` locates a file of the kernel's module directory. Synchronous: for
 * worker threads.
 *
 * @throws BACKEND_ERROR when the init is not built or a module is missing
 */
export function buildInitrd(moduleFile: (path: string) => string): Buffer {
  const init = findInit()
  if (init === undefined)
    throw fault(
      'BACKEND_ERROR',
      'the VM init (workspace-init) is not built; run npm run build:native with g++ and a static C library installed',
    )
  const modules = modulesToLoad(moduleFile).map(({ name, content }, index) => ({
    path: `modules/${String(index).padStart(3, '0')}-${name}.ko`,
    content,
  }))
  const list = modules.map(({ path }) => `/${path}\n`).join('')
  const files = [
    { path: 'init', content: readFileSync(init) },
    { path: 'modules.list', content: Buffer.from(list) },
    ...modules,
    ...formatterFiles(),
  ]
  const directories = new Set<string>(MOUNT_POINTS)
  for (const { path } of files)
    for (let above = dirname(path); above !== '.'; above = dirname(above)) directories.add(above)
  const entries: readonly CpioEntry[] = [
    ...[...directories].toSorted().map((path) => ({ is: 'directory', path, mode: 0o755 }) as const),
    // The kernel opens it as the console of init before init has mounted anything.
    { is: 'device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
    ...files.map((file) => ({ is: 'file', mode: 0o755, ...file }) as const),
  ]
  return gzipSync(cpioArchive(entries))
}
