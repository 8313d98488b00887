import { constants } from 'node:fs'
import { open, readlink, realpath } from 'node:fs/promises'
import { dirname, join, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import type { Backend } from '../backend/backend.ts'
import { readProgram } from '../backend/read-program.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import {
  DEV_CONTAINER_FILES,
  type DevContainerReading,
  MAX_DEV_CONTAINER_BYTES,
  parseDevContainer,
} from './dev-container.ts'
import type { Download } from './download-feature.ts'
import { withBuild } from './load-build.ts'
import { withFeatures } from './load-features.ts'
import { withDevContainerId } from './resolve-references.ts'

const TOO_LARGE = 'it is larger than 256 KiB'

/**
 * Reads the file in a host directory before the workspace exists. Links out of that directory are refused.
 */
export async function readFromHost(directory: string, download?: Download): Promise<DevContainerReading> {
  for (const file of DEV_CONTAINER_FILES) {
    try {
      const text = await readWithin(directory, file)
      const reading = parseDevContainer(text, WORKSPACE_DIR, dirname(file))
      const read = (path: string) => readWithin(directory, path)
      const complete = await withBuild(await withFeatures(reading, WORKSPACE_DIR, read, download), read)
      return withDevContainerId(complete, {
        'devcontainer.local_folder': directory,
        'devcontainer.config_file': join(directory, file),
      })
    } catch (error) {
      if (!/^(?:ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) {
        return { is: 'bad', why: messageOf(error) }
      }
    }
  }
  return { is: 'none' }
}

/**
 * Reads a file of a host directory. A pipe or device with its name is opened without blocking, and refused.
 *
 * @throws Error with a sentence for a file that is too large or outside the directory, and the system's errors
 */
async function readWithin(directory: string, file: string): Promise<string> {
  const found = await realpath(join(directory, file))
  refuseOutside(directory, found, file)
  const handle = await open(found, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
  try {
    // Checks the open file, in case a directory on the path was replaced after the lookup.
    if (process.platform === 'linux')
      refuseOutside(directory, await readlink(`/proc/self/fd/${handle.fd}`), file)
    if (!(await handle.stat()).isFile()) throw new Error('it is not a file')
    // One byte more than the limit: the file may grow while it is read.
    const bytes = Buffer.alloc(MAX_DEV_CONTAINER_BYTES + 1)
    let length = 0
    for (let count = 1; count > 0 && length < bytes.length; length += count)
      count = (await handle.read(bytes, length, bytes.length - length, null)).bytesRead
    if (length > MAX_DEV_CONTAINER_BYTES) throw new Error(TOO_LARGE)
    return bytes.toString('utf8', 0, length)
  } finally {
    await handle.close()
  }
}

function refuseOutside(directory: string, path: string, file: string): void {
  if (!path.startsWith(directory + sep)) throw new Error(`${file} is outside the directory`)
}

/** Reads the file inside a workspace, as its user. */
export async function readFromInside(
  backend: Backend,
  name: string,
  download?: Download,
): Promise<DevContainerReading> {
  const found = await readInside(backend, name, DEV_CONTAINER_FILES)
  if (found.is !== 'found') return found
  const reading = parseDevContainer(found.text, WORKSPACE_DIR, dirname(found.file))
  const read = async (path: string) => {
    const file = await readInside(backend, name, [path])
    if (file.is === 'found') return file.text
    throw file.is === 'bad'
      ? new Error(file.why)
      : Object.assign(new Error('it does not exist'), { code: 'ENOENT' })
  }
  const complete = await withBuild(await withFeatures(reading, WORKSPACE_DIR, read, download), read)
  return withDevContainerId(complete, { 'workspace.name': name })
}

/** Prints the name of the first existing file, and its beginning. */
const READ = `max=$1; shift
for file; do if [ -f "$file" ]; then printf '%s\\n' "$file"; exec head -c "$max" "$file"; fi; done; exit 9`

type FileReading =
  | { readonly is: 'none' }
  | { readonly is: 'found'; readonly file: string; readonly text: string }
  | { readonly is: 'bad'; readonly why: string }

/** Reads the first existing file of those in a workspace's directory. */
async function readInside(backend: Backend, name: string, files: readonly string[]): Promise<FileReading> {
  // One byte more than the limit, so that excess is noticed.
  const argv = [
    '/bin/sh',
    '-c',
    `cd ${WORKSPACE_DIR} || exit; ${READ}`,
    'sh',
    String(MAX_DEV_CONTAINER_BYTES + 1),
  ]
  const { stdout, status } = await readProgram(
    await backend.exec(name, { argv: [...argv, ...files], stdin: false }),
  )
  if (status === 9) return { is: 'none' }
  if (status !== 0) return { is: 'bad', why: 'it cannot be read' }
  const end = stdout.indexOf('\n')
  const text = stdout.slice(end + 1)
  if (Buffer.byteLength(text) > MAX_DEV_CONTAINER_BYTES) return { is: 'bad', why: TOO_LARGE }
  return { is: 'found', file: stdout.slice(0, end), text }
}
