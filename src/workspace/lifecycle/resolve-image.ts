import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { parseImage } from '../image-reference.ts'

/** Resolves the image alias in a devcontainer.json. An image that is not valid is ignored. */
export function withResolvedImage(
  reading: DevContainerReading,
  aliases: ReadonlyMap<string, string>,
): DevContainerReading {
  if (reading.is !== 'found' || reading.config.image === undefined) return reading
  const { config } = reading
  try {
    return { is: 'found', config: { ...config, image: parseImage(reading.config.image, aliases) } }
  } catch (error) {
    const invalid = [...config.invalid, `${messageOf(error)}, and is ignored`]
    return { is: 'found', config: { ...config, image: undefined, invalid } }
  }
}
