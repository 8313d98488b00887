import { messageOf } from '../../../lib/errors/message.ts'
import type { BackendUsage, Bytes, UsagePart } from '../backend.ts'
import { engineName } from './container.ts'
import type { DockerEngine } from './engine.ts'
import { workspaceNameOf } from './labels.ts'

/** Measures one directory tree; fails when it cannot be read. */
export type WalkTree = (path: string) => Promise<Bytes>

/**
 * What this server's containers and volumes take: the writable layer and the volume of each, walked on the host. With
 * an engine on another machine nothing can be walked; that is told in the notes.
 */
export async function readUsage(
  engine: DockerEngine,
  ownLabels: readonly string[],
  walkTree: WalkTree,
): Promise<BackendUsage> {
  const rows = await engine.call('listing containers', (abortSignal) =>
    engine.docker.listContainers({ all: true, filters: { label: [...ownLabels] }, abortSignal }),
  )
  const { Volumes } = await engine.call('listing volumes', (abortSignal) =>
    engine.docker.listVolumes({ filters: { label: [...ownLabels] }, abortSignal }),
  )
  const mountpoints = new Map(Volumes.map((volume) => [volume.Name, volume.Mountpoint]))
  const notes = new Set<string>()
  const measure = async (
    kind: UsagePart['kind'],
    path: string | undefined,
  ): Promise<readonly UsagePart[]> => {
    if (path === undefined || path === '') return []
    try {
      return [{ kind, path, size: await walkTree(path) }]
    } catch (error) {
      notes.add(`docker: ${path} could not be measured: ${messageOf(error)}`)
      return []
    }
  }

  const workspaces = new Map<string, readonly UsagePart[]>()
  const images = new Set<string>()
  for (const row of rows) {
    const name = workspaceNameOf(row.Labels)
    if (name === undefined) continue
    images.add(row.ImageID)
    const layer = await measure('rootfs', await upperDirectory(engine, row.Id))
    const volume = await measure('volume', mountpoints.get(engineName(name)))
    workspaces.set(name, [...layer, ...volume])
  }
  return { images: await imageSizes(engine, images), workspaces, notes: [...notes] }
}

async function imageSizes(engine: DockerEngine, ids: ReadonlySet<string>): Promise<BackendUsage['images']> {
  const images = await engine.call('listing images', (abortSignal) =>
    engine.docker.listImages({ abortSignal }),
  )
  return images
    .filter((image) => ids.has(image.Id))
    .map((image) => ({
      name: image.RepoTags?.[0] ?? image.Id,
      path: image.Id,
      // The engine keeps images in its own layers and tells one figure, what they take.
      size: { logicalBytes: image.Size, physicalBytes: image.Size },
    }))
}

/** Where the overlay2 driver keeps a container's own files; undefined for other drivers and vanished containers. */
async function upperDirectory(engine: DockerEngine, id: string): Promise<string | undefined> {
  try {
    const report = await engine.call('inspecting the container', (abortSignal) =>
      engine.docker.getContainer(id).inspect({ abortSignal }),
    )
    // The published types describe the devicemapper driver only.
    return (report.GraphDriver.Data as unknown as { UpperDir?: string } | null)?.UpperDir
  } catch {
    return undefined
  }
}
