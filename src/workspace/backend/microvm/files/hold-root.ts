import { lstat, readdir, realpath } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { makeDirs } from '../../../../lib/fs/make-dirs.ts'
import { tryLock } from '../../../../lib/fs/file-lock.ts'
import { fault } from '../../../errors.ts'
import type { BackendName } from '../../../backend-name.ts'

/** What stands for a directory being a backend's, and is held by whoever uses it. */
const LOCK = 'lock'
/** What a backend makes in its directory. */
const OWN = new Set([LOCK, 'images', 'blobs', 'tags', 'locks', 'uppers', 'instances', 'snapshots'])

/**
 * Makes a backend's directory and holds it: two servers on one would each end the other's machines, and what lies in another's
 * directory is none of ours to clear away (threat P8). Returns how to let go; throws BACKEND_ERROR while another has it, and for
 * a directory that is somebody else's.
 */
export async function holdRoot(root: string, backend: BackendName): Promise<() => Promise<void>> {
  makeDirs(root, 0o700)
  const why = await whyForeign(root)
  if (why !== undefined)
    throw fault('BACKEND_ERROR', `${root} cannot be ${backend}.root: ${why}; name a directory of its own`)
  const release = await tryLock(join(root, LOCK), () => undefined)
  if (release !== 'taken') return release
  throw fault('BACKEND_ERROR', `another server uses ${root}: stop it, or set ${backend}.root`)
}

async function whyForeign(root: string): Promise<string | undefined> {
  const path = await realpath(root)
  if (path === '/') return 'it is the root directory'
  if (path === (await realpath(homedir()).catch(() => homedir()))) return 'it is a home directory'
  const { uid } = await lstat(path)
  const own = process.getuid?.()
  if (own !== undefined && uid !== own) return `it belongs to user ${uid}`
  const names = await readdir(path)
  if (names.includes(LOCK)) return undefined
  const foreign = names.find((name) => !OWN.has(name) && !name.startsWith('.'))
  return foreign === undefined ? undefined : `it holds ${JSON.stringify(foreign)}, and no server has used it`
}
