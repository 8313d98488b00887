import { posix } from 'node:path'
import { messageOf } from '../../lib/errors/message.ts'
import { readDockerignore } from '../dockerfile/ignored-files.ts'
import { readDockerfile } from '../dockerfile/read-dockerfile.ts'
import type { DevContainerReading } from './dev-container.ts'

/**
 * Reads the Dockerfile that a configuration names. One that is unusable is reported, and nothing is built.
 *
 * @param read returns the text of a file, by its path relative to the workspace's directory
 */
export async function withBuild(
  reading: DevContainerReading,
  read: (path: string) => Promise<string>,
): Promise<DevContainerReading> {
  if (reading.is !== 'found' || reading.config.buildReference === undefined) return reading
  const { config } = reading
  const { buildReference: reference } = reading.config
  try {
    const dockerfile = readDockerfile(await read(reference.file))
    const dockerignore = await read(posix.join(reference.context, '.dockerignore')).catch(absent)
    const isIgnored = readDockerignore(dockerignore ?? '')
    return {
      is: 'found',
      config: { ...config, build: { ...reference, dockerfile, dockerignore, isIgnored } },
    }
  } catch (error) {
    const why = `build: ${reference.file} is unusable, and no image is built: ${messageOf(error)}`
    return { is: 'found', config: { ...config, invalid: [...config.invalid, why] } }
  }
}

/** Returns undefined for a file that does not exist. Any other one may name files that an image must not have. */
function absent(error: unknown): undefined {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
  throw new Error(`.dockerignore: ${messageOf(error)}`, { cause: error })
}
