import type { Readable } from 'node:stream'
import type { Container } from 'dockerode'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { CHANGE_DEADLINE_MS, type DockerEngine } from '../engine/engine.ts'

const LABEL = 'workspace.image-export'
/** Older containers were left behind by a server that crashed: no export takes that long. */
const LEFT_AFTER_S = 3_600

/** Returns the root file system of an image as a tar stream. The engine exports containers only, so it creates one that never runs. */
export async function exportRootfs(
  engine: DockerEngine,
  image: string,
  signal: AbortSignal,
): Promise<Readable> {
  await removeLeftovers(engine)
  const container = await engine.make('creating a container to export', signal, async (abortSignal) => {
    const created = await engine.docker.createContainer({
      Image: image,
      Cmd: ['true'],
      Labels: { [LABEL]: '' },
      abortSignal,
    })
    if (signal.aborted) await removeContainer(created)
    return created
  })
  const remove = (): void => void removeContainer(container)
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

async function removeContainer(container: Container): Promise<void> {
  await container.remove({ force: true, v: true }).catch(ignore('a later export removes it'))
}

async function removeLeftovers(engine: DockerEngine): Promise<void> {
  const rows = await engine.call('listing containers', (abortSignal) =>
    engine.docker.listContainers({ all: true, filters: { label: [LABEL] }, abortSignal }),
  )
  for (const { Id, Created } of rows)
    if (Date.now() / 1_000 - Created > LEFT_AFTER_S) await removeContainer(engine.docker.getContainer(Id))
}
