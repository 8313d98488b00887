import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../../../lib/errors/message.ts'
import { EARLY_END } from '../../../../lib/tar/read-tar.ts'
import { SPARSE_OPTIONS } from '../../../files/scripts.ts'
import type { CliContext } from '../context.ts'
import { startScript } from '../ssh-client.ts'
import { copyFault, type Endpoint, splitPath } from './endpoint.ts'
import { extractArchive } from './extract.ts'
import type { CopyMeter } from './meter.ts'
import { followScript, type RunningScript } from './script.ts'

/** Archives `$2` of directory `$1`; an empty `$2` archives the directory's contents. */
const PACK = `
command -v tar >/dev/null || exit 127
cd -- "$1" || exit 1
if [ -z "$2" ]; then exec tar ${SPARSE_OPTIONS} -cf - .; fi
if [ ! -e "$2" ] && [ ! -L "$2" ]; then echo "\${1%/}/$2: No such file or directory" >&2; exit 1; fi
exec tar ${SPARSE_OPTIONS} -cf - "./$2"`

type Inside = Extract<Endpoint, { is: 'inside' }>

/** Starts to archive a path of a workspace; the archive is the script's output. */
async function pack(context: CliContext, { workspace, path }: Inside): Promise<RunningScript> {
  const { parent, base } = splitPath(path)
  return followScript(await startScript(context, workspace, PACK, [parent, base]), workspace)
}

/** Writes a path of a workspace to standard output as a tar archive. */
export async function streamFromWorkspace(
  context: CliContext,
  source: Inside,
  meter: CopyMeter,
): Promise<void> {
  if (process.stdout.isTTY)
    throw copyFault('COPY_INVALID', 'a tar archive is not written to a terminal; redirect standard output')
  const { child, finish } = await pack(context, source)
  child.stdin.end()
  await pipeline(child.stdout, meter.counter(), process.stdout, { end: false })
  await finish()
}

/**
 * Copies a file or directory of a workspace to this machine. The archive is untrusted: nothing outside the target is changed.
 *
 * @throws COPY_FAILED when either side fails; files copied before remain
 */
export async function copyFromWorkspace(
  context: CliContext,
  source: Inside,
  target: string,
  meter: CopyMeter,
): Promise<void> {
  const { child, finish } = await pack(context, source)
  child.stdin.end()
  try {
    await extractArchive(child.stdout, splitPath(source.path).base, target, meter)
  } catch (error) {
    child.kill()
    // If the script failed, its messages explain why the archive is incomplete.
    if (error instanceof Error && error.message === EARLY_END) await finish()
    throw copyFault('COPY_FAILED', `copying from "${source.workspace}" failed: ${messageOf(error)}`, error)
  }
  await finish()
}
