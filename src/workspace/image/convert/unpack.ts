import type { Readable } from 'node:stream'
import type { Owners } from './owners.ts'
import { runTool } from './tool.ts'

/**
 * Unpacks an archive that nobody vouches for into an empty directory. GNU tar takes leading slashes away, refuses names
 * with `..` in them, and makes links that lead out of the directory only after everything else, so that nothing is written
 * through them; as the directory is new, there are no others. Throws BACKEND_ERROR, also for an archive of which a part
 * was refused.
 */
export async function unpack(
  archive: string | Readable,
  tree: string,
  owners: Owners,
  signal: AbortSignal | undefined,
): Promise<void> {
  const attributes = owners.haveAttributes ? ['--xattrs', '--xattrs-include=*'] : []
  const file = typeof archive === 'string' ? archive : '-'
  const argv = [
    'tar',
    // A name may hold a colon, which would make tar look for a machine.
    ...'--extract --force-local --numeric-owner --same-owner --preserve-permissions'.split(' '),
    ...attributes,
    `--directory=${tree}`,
    `--file=${file}`,
  ]
  const input = typeof archive === 'string' ? {} : { input: archive }
  await runTool(owners.as(argv), { what: 'unpacking the image', package: 'tar', signal, ...input })
}
