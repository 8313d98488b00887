import { lstat, readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { tryLock } from '../../../../lib/fs/file-lock.ts'
import { fault } from '../../../errors.ts'
import type { BackendName } from '../../../backend-name.ts'

/** Marks a directory as a backend's; its user holds the lock. */
const LOCK = 'lock'
/** Entries that a backend creates in its directory. */
const OWN = new Set([
  LOCK,
  'images',
  'blobs',
  'tags',
  'locks',
  'uppers',
  'instances',
  'snapshots',
  'forks',
  'checkpoints',
])

/**
 * Creates a backend's directory and locks it: two servers on one directory would stop each other's VMs and
 * delete each other's files (threat P8). Returns the function that releases the lock.
 *
 * @throws BACKEND_ERROR while another server has the lock, or when the directory belongs to something else
 */
export async function lockRoot(root: string, backend: BackendName): Promise<() => Promise<void>> {
  makeDirs(root, 0o700)
  const why = await whyForeign(root)
  if (why !== undefined)
    throw fault('BACKEND_ERROR', `${root} cannot be ${backend}.root: ${why}; use a dedicated directory`)
  const release = await tryLock(join(root, LOCK), () => undefined)
  if (release !== 'taken') return release
  throw fault('BACKEND_ERROR', `another server uses ${root}: stop it, or set ${backend}.root`)
}

async function whyForeign(root: string): Promise<string | undefined> {
  const path = await realpath(root)
  if (path === '/') return 'it is the root directory'
  if (path === (await realpath(homedir()).catch(ignore('the home directory may be missing', homedir()))))
    return 'it is a home directory'
  const { uid } = await lstat(path)
  const own = process.getuid?.()
  if (own !== undefined && uid !== own) return `it belongs to user ${uid}`
  const names = await readdir(path)
  if (names.includes(LOCK)) return undefined
  const foreign = names.find((name) => !OWN.has(name) && !name.startsWith('.'))
  return foreign === undefined ? undefined : `it holds ${JSON.stringify(foreign)}, and no server has used it`
}
