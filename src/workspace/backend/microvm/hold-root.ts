import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { tryLock } from '../../../lib/fs/file-lock.ts'
import { fault } from '../../errors.ts'
import type { BackendName } from '../../workspace.ts'

/**
 * Makes a backend's directory and holds it: two servers on one would each end the other's machines (threat P8). Returns how to
 * let go; throws BACKEND_ERROR while another has it.
 */
export async function holdRoot(root: string, backend: BackendName): Promise<() => Promise<void>> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  const release = await tryLock(join(root, 'lock'), () => undefined)
  if (release !== 'taken') return release
  throw fault('BACKEND_ERROR', `another server uses ${root}: stop it, or set ${backend}.root`)
}
