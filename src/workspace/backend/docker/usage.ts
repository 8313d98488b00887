import type { ImageInfo } from 'dockerode'
import type { BackendUsage, UsagePart } from '../backend.ts'
import type { DockerEngine } from './engine/engine.ts'
import {
  CHECKPOINT_OF,
  COPY_SERVER,
  engineName,
  type Labels,
  ownFilter,
  workspaceNameOf,
} from './engine/labels.ts'
import { nameKey } from '../../name.ts'

/**
 * Returns the paths of this server's containers and volumes (writable layer and volume, on the engine's
 * machine) and the images they use.
 */
export async function readUsage(engine: DockerEngine, serverId: string): Promise<BackendUsage> {
  const ownLabels = ownFilter(serverId)
  const rows = await engine.call('listing containers', (abortSignal) =>
    engine.docker.listContainers({ all: true, filters: { label: [...ownLabels] }, abortSignal }),
  )
  const { Volumes } = await engine.call('listing volumes', (abortSignal) =>
    engine.docker.listVolumes({ filters: { label: [...ownLabels] }, abortSignal }),
  )
  const volumes = new Map(Volumes.map((volume) => [volume.Name, part('volume', volume.Mountpoint)] as const))
  const workspaces = new Map<string, readonly UsagePart[]>()
  const images = new Set<string>()
  for (const row of rows) {
    const name = workspaceNameOf(row.Labels)
    if (name === undefined) continue
    images.add(row.ImageID)
    const layer = part('rootfs', await upperDirectory(engine, row.Id))
    workspaces.set(name, [...layer, ...(volumes.get(engineName(name)) ?? [])])
    volumes.delete(engineName(name))
  }
  // Kept for the next workspace of that name.
  for (const { Name, Labels } of Volumes) {
    const name = workspaceNameOf(Labels)
    const kept = volumes.get(Name)
    if (name !== undefined && kept !== undefined) workspaces.set(name, kept)
  }
  const all = await engine.call('listing images', (abortSignal) => engine.docker.listImages({ abortSignal }))
  const checkpoints = await readCheckpoints(engine, serverId, all, images)
  for (const [name, parts] of workspaces)
    workspaces.set(name, [...parts, ...(checkpoints.get(nameKey(name)) ?? [])])
  return { images: imageSizes(all, images), workspaces, snapshots: [], notes: [] }
}

/** Returns the volumes of checkpoints, and the layers of their images that no container uses, by the key of their workspace. */
async function readCheckpoints(
  engine: DockerEngine,
  serverId: string,
  all: readonly ImageInfo[],
  inUse: ReadonlySet<string>,
): Promise<ReadonlyMap<string, readonly UsagePart[]>> {
  const filters = { label: [`${COPY_SERVER}=${serverId}`, CHECKPOINT_OF] }
  const { Volumes } = await engine.call('listing volumes of checkpoints', (abortSignal) =>
    engine.docker.listVolumes({ filters, abortSignal }),
  )
  const sizes = new Map(all.map(({ Id, Size }) => [Id, Size]))
  const isCheckpoint = ({ Id, Labels }: ImageInfo): boolean =>
    !inUse.has(Id) && (Labels as Labels | null)?.[COPY_SERVER] === serverId && CHECKPOINT_OF in Labels
  const layers = all.filter(isCheckpoint).map(({ Id, Size, ParentId, Labels }) => {
    const bytes = Math.max(0, Size - (sizes.get(ParentId) ?? Size))
    const size = { files: 0, logicalBytes: bytes, physicalBytes: bytes }
    return { of: Labels[CHECKPOINT_OF] ?? '', part: { kind: 'checkpoint', path: Id, size } as const }
  })
  const copies = Volumes.flatMap(({ Labels, Mountpoint }) =>
    part('checkpoint', Mountpoint).map((each) => ({ of: Labels[CHECKPOINT_OF] ?? '', part: each })),
  )
  const byName = Map.groupBy([...copies, ...layers], ({ of }) => of)
  return new Map([...byName].map(([of, parts]) => [of, parts.map((each) => each.part)]))
}

function part(kind: UsagePart['kind'], path: string | undefined): readonly UsagePart[] {
  return path === undefined || path === '' ? [] : [{ kind, path }]
}

function imageSizes(images: readonly ImageInfo[], ids: ReadonlySet<string>): BackendUsage['images'] {
  const sizes = new Map(images.map(({ Id, Size }) => [Id, Size]))
  return images
    .filter((image) => ids.has(image.Id))
    .map((image) => {
      // The engine keeps images in its own layers and reports a single figure, their disk usage. The image of a
      // fork has the layers of its parent as well, which count there.
      const parent = ids.has(image.ParentId) ? image.ParentId : ''
      const bytes = Math.max(0, image.Size - (sizes.get(parent) ?? 0))
      return {
        name: image.RepoTags?.[0] ?? image.Id,
        path: image.Id,
        dockerRef: image.RepoTags?.[0] ?? '',
        size: { files: 0, logicalBytes: bytes, physicalBytes: bytes },
      }
    })
}

/**
 * Returns the directory in which overlay2 stores a container's own files; undefined for other drivers and
 * vanished containers.
 */
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
