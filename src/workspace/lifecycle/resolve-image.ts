import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { parseImage } from '../image-reference.ts'

/**
 * Resolves the image alias in a devcontainer.json. An invalid image makes the file unusable, which does not
 * fail the creation.
 */
export function withResolvedImage(
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
