import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../../src/lib/process/package.ts'

/** Runs before all VM suites: builds what they boot, which takes minutes the first time. */
export default function setup(): void {
  execFileSync(join(packageRoot, 'scripts/vm-parts'), { stdio: ['ignore', 'inherit', 'inherit'] })
}

const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'workspace/vm')

/** A tar archive of the base image's root file system. */
export const baseTar = join(cache, 'base.tar')

/** A kernel with its modules, as an administrator would configure them. */
export function testKernel(): { readonly file: string; readonly modules: string; readonly release: string } {
  const [release = ''] = readdirSync(join(cache, 'kernel/lib/modules'))
  return {
    release,
    file: join(cache, `kernel/boot/vmlinuz-${release}`),
    modules: join(cache, `kernel/lib/modules/${release}`),
  }
}
