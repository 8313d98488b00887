import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import type { Backend } from '../backend/backend.ts'
import { WORKSPACE_DIR } from '../workspace.ts'
import {
  DEV_CONTAINER_FILES,
  type DevContainerReading,
  MAX_DEV_CONTAINER_BYTES,
  parseDevContainer,
} from './dev-container.ts'

const TOO_LARGE = 'it is larger than 256 KiB'

/** Reads the file in a directory of the host, before there is a workspace. No link leads out of that directory. */
export async function readFromHost(directory: string): Promise<DevContainerReading> {
  for (const file of DEV_CONTAINER_FILES) {
    try {
      const path = await realpath(join(directory, file))
      if (!path.startsWith(directory + sep)) return { is: 'bad', why: `${file} leads out of the directory` }
      const text = await readRegularFile(path)
      return text === undefined ? { is: 'bad', why: TOO_LARGE } : parseDevContainer(text, WORKSPACE_DIR)
    } catch (error) {
      if (!/^(?:ENOENT|ENOTDIR)$/.test((error as NodeJS.ErrnoException).code ?? '')) {
        return { is: 'bad', why: messageOf(error) }
      }
    }
  }
  return { is: 'none' }
}

/** Undefined when it is too large. A pipe or a device in the file's place is opened without waiting, and refused. */
async function readRegularFile(path: string): Promise<string | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stat = await handle.stat()
    if (!stat.isFile()) throw new Error('it is not a file')
    if (stat.size > MAX_DEV_CONTAINER_BYTES) return undefined
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

/** Reads the file inside a workspace, as its user. */
export async function readFromInside(backend: Backend, name: string): Promise<DevContainerReading> {
  const paths = DEV_CONTAINER_FILES.map((file) => `${WORKSPACE_DIR}/${file}`)
  // One byte more than there may be, so that too many are noticed.
  const script = `max=$1; shift; for f; do if [ -f "$f" ]; then exec head -c "$max" "$f"; fi; done; exit 9`
  const argv = ['/bin/sh', '-c', script, 'sh', String(MAX_DEV_CONTAINER_BYTES + 1), ...paths]
  const process = await backend.exec(name, { argv, stdin: false })
  process.stderr.resume()
  const text = (await process.stdout.setEncoding('utf8').toArray()).join('')
  const { status } = await process.exitStatus
  if (status === 9) return { is: 'none' }
  if (status !== 0) return { is: 'bad', why: 'it cannot be read' }
  if (Buffer.byteLength(text) > MAX_DEV_CONTAINER_BYTES) return { is: 'bad', why: TOO_LARGE }
  return parseDevContainer(text, WORKSPACE_DIR)
}
