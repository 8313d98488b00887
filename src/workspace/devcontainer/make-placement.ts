import { isWithin } from '../../lib/fs/is-within.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import type { Placement } from './placement.ts'

/** Makes directories, then a link unless something is there. Prints each path that it could not make. */
const MAKE = `
target=$1 link=$2
shift 2
for path; do mkdir -p -- "$path" 2>/dev/null || printf '%s\\n' "$path"; done
[ -n "$link" ] || exit 0
if [ -d "$link" ] && [ ! -L "$link" ]; then rmdir -- "$link" 2>/dev/null; fi
[ ! -e "$link" ] && mkdir -p -- "\${link%/*}/" 2>/dev/null && ln -s -- "$target" "$link" 2>/dev/null ||
  printf '%s\\n' "$link"`

/**
 * Makes the paths that a devcontainer.json wants inside a workspace, as root. Never fails: what cannot be made is a
 * warning.
 */
export async function makePlacement(
  backend: Backend,
  { name, localDir }: { readonly name: string; readonly localDir: string },
  { link = '', directories }: Placement,
  warn: (message: string) => void,
): Promise<void> {
  // Otherwise the volume's files would be the host's.
  const isOfHost = (path: string): boolean => localDir !== '' && isWithin(path, WORKSPACE_DIR)
  for (const path of directories.filter(isOfHost))
    warn(`devcontainer.json: mounts: ${path} is not mounted, because it is in local_dir`)
  const made = directories.filter((path) => !isOfHost(path))
  if (link === '' && made.length === 0) return
  try {
    const argv = ['/bin/sh', '-c', MAKE, 'sh', WORKSPACE_DIR, link, ...made]
    const { stdout } = await readProgram(await backend.exec(name, { argv, user: '0', stdin: false }))
    for (const path of stdout.split('\n').filter((line) => line !== ''))
      warn(
        path === link
          ? `devcontainer.json: ${path} exists in the image or cannot be made; files are in ${WORKSPACE_DIR}`
          : `devcontainer.json: mounts: ${path} cannot be made`,
      )
  } catch (error) {
    warn(`devcontainer.json: its directories cannot be made: ${messageOf(error)}`)
  }
}
