import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir, readlink, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../../../lib/errors/message.ts'
import { encodeTarHeader, TAR_END } from '../../../../lib/tar/encode-header.ts'
import { paddingOf } from '../../../../lib/tar/entry.ts'
import type { CliContext } from '../context.ts'
import { startScript } from '../ssh-client.ts'
import { copyFault, type Endpoint, splitPath } from './endpoint.ts'
import { findLayout } from './find-layout.ts'
import type { CopyMeter } from './meter.ts'
import { followScript } from './script.ts'

const PIECE_BYTES = 256 * 1024

/**
 * Reports on the target `$1` and extracts an archive: `$2` is `file`, `directory` or `archive`; `$3` is the target's parent. The
 * report decides the names in the archive, and whether it has sparse files, which BusyBox cannot read.
 */
const UNPACK = `
command -v tar >/dev/null || exit 127
form=plain
if tar --version 2>/dev/null | grep -q 'GNU tar'; then form=sparse; fi
if [ -d "$1" ]; then echo "into $form"; cd -- "$1" || exit 1
elif [ "$2" = archive ]; then echo "$1: not a directory" >&2; exit 1
elif [ "$2" = directory ]; then
  if [ -e "$1" ]; then echo "$1 is a file, but the source is a directory" >&2; exit 1; fi
  mkdir -- "$1" && cd -- "$1" || exit 1; echo "as $form"
else
  case $1 in */) echo "$1: the directory does not exist" >&2; exit 1 ;; esac
  cd -- "$3" || exit 1; echo "as $form"
fi
exec tar -xpof -`

type Inside = Extract<Endpoint, { is: 'inside' }>

/** Copies a file or directory of this machine, or a tar archive from standard input, to a workspace. */
export async function copyToWorkspace(
  context: CliContext,
  source: string | Readable,
  { workspace, path }: Inside,
  meter: CopyMeter,
): Promise<void> {
  const stats = typeof source === 'string' ? await statOf(source) : undefined
  const kind = stats === undefined ? 'archive' : stats.isDirectory() ? 'directory' : 'file'
  const { parent, base } = splitPath(path)
  const script = followScript(await startScript(context, workspace, UNPACK, [path, kind, parent]), workspace)
  const { child, finish } = script
  const line = await firstLine(child.stdout)
  if (line === undefined) return finish()
  const [report = '', form] = line.split(' ')
  child.stdout.resume()
  const archive =
    typeof source === 'string'
      ? Readable.from(
          packed(source, topName(source, kind, report, base), { meter, leavesHoles: form === 'sparse' }),
        )
      : source.pipe(meter.counter())
  try {
    await pipeline(archive, child.stdin)
  } catch (error) {
    // A script that ends early closes its input, and explains why.
    const isCutOff = (error as NodeJS.ErrnoException).code === 'EPIPE'
    if (!isCutOff) child.kill()
    await finish().catch((failure: unknown) => {
      if (isCutOff) throw failure
    })
    throw copyFault('COPY_FAILED', `copying to "${workspace}" failed: ${messageOf(error)}`, error)
  }
  await finish()
}

async function statOf(path: string): Promise<Stats> {
  try {
    // Like cp, follows a link that is named itself if it denotes a directory with a trailing slash.
    return await (path.endsWith('/') ? stat(path) : lstat(path))
  } catch (error) {
    throw copyFault('COPY_INVALID', `cannot read ${path}: ${messageOf(error)}`, error)
  }
}

/** Returns the name of the source inside: its own in an existing directory, else the target's; '' for directory contents. */
function topName(source: string, kind: string, report: string, base: string): string {
  const { base: own } = splitPath(source)
  if (report === 'into') return own === '' && kind === 'file' ? basename(resolve(source)) : own
  return kind === 'file' ? base : ''
}

/** Returns the first line of a script's output, at most 64 bytes; undefined if it ended before. */
async function firstLine(output: Readable): Promise<string | undefined> {
  let text = ''
  for await (const chunk of output.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1')
    const end = text.indexOf('\n')
    if (end !== -1) return text.slice(0, end)
    if (text.length > 64) break
  }
  return undefined
}

interface Packing {
  readonly meter: CopyMeter
  /** Whether holes of sparse files are left out. */
  readonly leavesHoles: boolean
}

/** Returns the archive of a file or directory under another name. */
async function* packed(source: string, name: string, packing: Packing): AsyncGenerator<Buffer> {
  const root = Buffer.from(source)
    .toString('latin1')
    .replace(/(.)\/+$/, '$1')
  yield* entriesOf(root, Buffer.from(name).toString('latin1'), packing)
  yield TAR_END
}

/** Paths are byte strings (`latin1`), because names may contain any bytes. */
async function* entriesOf(path: string, name: string, packing: Packing): AsyncGenerator<Buffer> {
  const { meter } = packing
  const stats = await lstat(bytesOf(path))
  const { mode, mtimeMs } = stats
  const common = { mode: mode & 0o7777, mtimeMs, size: 0, linkPath: '' }
  // A leading './' keeps names that start with a hyphen from being read as options.
  const inArchive = name === '' ? './' : `./${name}`
  if (stats.isDirectory()) {
    yield encodeTarHeader({ ...common, type: 'directory', path: inArchive.replace(/\/?$/, '/') })
    for (const child of await readdir(bytesOf(path), { encoding: 'latin1' }))
      yield* entriesOf(`${path}/${child}`, name === '' ? child : `${name}/${child}`, packing)
  } else if (stats.isSymbolicLink()) {
    const linkPath = await readlink(bytesOf(path), { encoding: 'latin1' })
    meter.files++
    yield encodeTarHeader({ ...common, type: 'link', path: inArchive, linkPath })
  } else if (stats.isFile()) yield* contentOf(path, { ...common, path: inArchive }, packing)
  else meter.skipped++
}

async function* contentOf(
  path: string,
  entry: Omit<Parameters<typeof encodeTarHeader>[0], 'type'>,
  { meter, leavesHoles }: Packing,
): AsyncGenerator<Buffer> {
  const file = await open(bytesOf(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const layout = leavesHoles ? await findLayout(file) : undefined
    const extents = layout?.extents ?? [{ offset: 0, length: (await file.stat()).size }]
    const size = extents.reduce((sum, { length }) => sum + length, 0)
    yield encodeTarHeader({ ...entry, type: 'file', size, layout })
    for (const { offset, length } of extents)
      // The header has promised this size: bytes that are appended meanwhile are left out.
      for (let done = 0; done < length;) {
        const piece = Buffer.allocUnsafe(Math.min(length - done, PIECE_BYTES))
        const { bytesRead } = await file.read(piece, 0, piece.length, offset + done)
        if (bytesRead === 0) throw new Error(`${bytesOf(path).toString()} became shorter while it was copied`)
        done += bytesRead
        meter.add(bytesRead)
        yield piece.subarray(0, bytesRead)
      }
    yield Buffer.alloc(paddingOf(size))
    meter.files++
  } finally {
    await file.close()
  }
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}
