import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, normalize, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { fault } from '../errors.ts'

/**
 * Validates a host directory to mount and resolves its links once (threat W4).
 *
 * @throws INVALID_LOCAL_DIR for relative paths, `..`, control characters, `/`, anything that is not a
 * directory, and any path that contains or is inside one of `forbidden` (our own state, the engine's)
 */
export async function parseLocalDir(text: string, forbidden: readonly string[]): Promise<string> {
  // oxlint-disable-next-line no-control-regex -- matches control characters on purpose
  if (text.length > 4096 || /[\u0000-\u001f\u007f]/.test(text)) {
    throw invalid(text, 'is too long or contains control characters')
  }
  if (!isAbsolute(text)) throw invalid(text, 'must be an absolute path')
  if (text.split(sep).includes('..')) throw invalid(text, 'must not contain ".."')
  const path = await resolveDirectory(text)
  if (path === sep) throw invalid(text, "must not be the host's root directory")
  for (const root of forbidden) {
    if (isInside(path, root) || isInside(root, path)) {
      throw invalid(text, `must not overlap ${root}, which belongs to the server`)
    }
  }
  return path
}

async function resolveDirectory(text: string): Promise<string> {
  let path: string
  try {
    path = await realpath(normalize(text))
    if ((await stat(path)).isDirectory()) return path
  } catch (error) {
    throw fault(
      'INVALID_LOCAL_DIR',
      `local_dir ${JSON.stringify(text)} is not accessible: ${messageOf(error)}`,
      error,
    )
  }
  throw invalid(text, 'is not a directory')
}

function isInside(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function invalid(text: string, why: string) {
  return fault('INVALID_LOCAL_DIR', `local_dir ${JSON.stringify(text.slice(0, 200))} ${why}`)
}
