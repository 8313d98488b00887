import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { fault } from '../errors.ts'

/** A Docker image reference: registry, path, tag or digest; never an option or a path (threat W5). */
const IMAGE = /^[a-z0-9][a-z0-9._:/-]*(?:@sha256:[0-9a-f]{64})?$/i

/** The image that a name or alias stands for. Throws INVALID_REQUEST. */
export function parseImage(text: string, aliases: ReadonlyMap<string, string>): string {
  const image = aliases.get(text) ?? text
  if (image.length <= 255 && IMAGE.test(image) && !image.includes('..')) return image
  throw fault('INVALID_REQUEST', `image ${JSON.stringify(image.slice(0, 80))} is not an image reference`)
}

/** A reading whose image is the one that its name stands for. A file whose image is none is of no use, and fails nothing. */
export function withKnownImage(
  reading: DevContainerReading,
  aliases: ReadonlyMap<string, string>,
): DevContainerReading {
  if (reading.is !== 'found' || reading.config.image === undefined) return reading
  try {
    return { is: 'found', config: { ...reading.config, image: parseImage(reading.config.image, aliases) } }
  } catch (error) {
    return { is: 'bad', why: messageOf(error) }
  }
}
