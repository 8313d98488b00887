import {
  type DevContainer,
  type DevContainerReading,
  parseDevContainer,
} from '../../../src/workspace/devcontainer/dev-container.ts'

/** Reads a devcontainer.json that is in no folder. */
export function read(content: unknown): DevContainerReading {
  return parseDevContainer(typeof content === 'string' ? content : JSON.stringify(content), '/workspace')
}

/** Reads one that is usable. */
export function found(content: unknown): DevContainer {
  const reading = read(content)
  if (reading.is !== 'found') throw new Error(JSON.stringify(reading))
  return reading.config
}
