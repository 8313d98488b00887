import { constants } from 'node:fs'
import { open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
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
import { withDevContainerId } from './resolve-references.ts'

const TOO_LARGE = 'it is larger than 256 KiB'

/**
 * Reads the file in a host directory before the workspace exists. Links out of that directory are refused.
 */
export async function readFromHost(directory: string): Promise<DevContainerReading> {
  for (const file of DEV_CONTAINER_FILES) {
    try {
      const text = await readWithin(directory, file)
      if (text === undefined) return { is: 'bad', why: TOO_LARGE }
      return withDevContainerId(parseDevContainer(text, WORKSPACE_DIR), {
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
 * Reads a file; resolves to undefined when it is too large. A pipe or device with its name is opened without
 * blocking, and refused.
 */
async function readWithin(directory: string, file: string): Promise<string | undefined> {
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
    return length > MAX_DEV_CONTAINER_BYTES ? undefined : bytes.toString('utf8', 0, length)
  } finally {
    await handle.close()
  }
}

function refuseOutside(directory: string, path: string, file: string): void {
  if (!path.startsWith(directory + sep)) throw new Error(`${file} is outside the directory`)
}

/** Reads the file inside a workspace, as its user. */
export async function readFromInside(backend: Backend, name: string): Promise<DevContainerReading> {
  const paths = DEV_CONTAINER_FILES.map((file) => `${WORKSPACE_DIR}/${file}`)
  // One byte more than the limit, so that excess is noticed.
  const script = `max=$1; shift; for f; do if [ -f "$f" ]; then exec head -c "$max" "$f"; fi; done; exit 9`
  const argv = ['/bin/sh', '-c', script, 'sh', String(MAX_DEV_CONTAINER_BYTES + 1), ...paths]
  const { stdout: text, status } = await readProgram(await backend.exec(name, { argv, stdin: false }))
  if (status === 9) return { is: 'none' }
  if (status !== 0) return { is: 'bad', why: 'it cannot be read' }
  if (Buffer.byteLength(text) > MAX_DEV_CONTAINER_BYTES) return { is: 'bad', why: TOO_LARGE }
  return withDevContainerId(parseDevContainer(text, WORKSPACE_DIR), { 'workspace.name': name })
}
