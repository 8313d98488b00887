import type { Readable } from 'node:stream'
import { CHANGE_DEADLINE_MS, type DockerEngine } from './engine.ts'

const LABEL = 'workspace.image-export'
/** What is older was left by a server that crashed: no export takes that long. */
const LEFT_AFTER_S = 3_600

/** The root file system of an image as a tar stream, which the engine gives of containers alone: one that never runs. */
export async function exportRootfs(
  engine: DockerEngine,
  image: string,
  signal: AbortSignal,
): Promise<Readable> {
  await removeLeftovers(engine)
  const container = await engine.call(
    'creating a container to export',
    (abortSignal) =>
      engine.docker.createContainer({ Image: image, Cmd: ['true'], Labels: { [LABEL]: '' }, abortSignal }),
    { deadlineMs: CHANGE_DEADLINE_MS, signal },
  )
  const remove = (): void => void container.remove({ force: true, v: true }).catch(() => undefined)
  try {
    const stream = (await engine.call(
      'exporting the image',
      () => container.export({ abortSignal: signal }),
      { deadlineMs: CHANGE_DEADLINE_MS, signal },
    )) as Readable
    return stream.once('close', remove)
  } catch (error) {
    remove()
    throw error
  }
}

async function removeLeftovers(engine: DockerEngine): Promise<void> {
  const rows = await engine.call('listing containers', (abortSignal) =>
    engine.docker.listContainers({ all: true, filters: { label: [LABEL] }, abortSignal }),
  )
  for (const { Id, Created } of rows)
    if (Date.now() / 1_000 - Created > LEFT_AFTER_S)
      await engine.docker
        .getContainer(Id)
        .remove({ force: true, v: true })
        .catch(() => undefined)
}
