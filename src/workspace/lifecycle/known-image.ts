import { messageOf } from '../../lib/errors/message.ts'
import type { DevContainerReading } from '../devcontainer/dev-container.ts'
import { parseImage } from '../image-reference.ts'

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
