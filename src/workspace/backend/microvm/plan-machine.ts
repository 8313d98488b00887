import { randomBytes } from 'node:crypto'
import { fault } from '../../errors.ts'
import type { ImageStore } from '../../image/image-store.ts'
import { limitsToWire } from '../../network/narrow.ts'
import type { BackendCreate } from '../backend.ts'
import type { Metadata } from './files/metadata.ts'
import type { SnapshotRecord } from './files/snapshot-record.ts'

/** Resources of VMs whose creation leaves them out. */
export interface MachineDefaults {
  readonly cpus: number
  readonly memoryMb: number
  readonly upperBytes: number
}

/** The metadata of a new VM, and where its disk comes from. */
interface MachinePlan {
  readonly metadata: Metadata
  readonly disk: 'new' | 'kept' | 'copied'
}

/**
 * Plans a VM before anything of it is created.
 *
 * @param kept metadata of an earlier workspace of that name whose files were kept
 * @param snapshot the snapshot or fork to copy the disk from
 * @throws IMAGE_NOT_FOUND when the image does not exist
 * @throws BACKEND_ERROR when kept files belong to another image
 */
export async function planMachine(
  request: BackendCreate,
  from: { readonly kept: Metadata | undefined; readonly snapshot: SnapshotRecord | undefined },
  images: ImageStore,
  defaults: MachineDefaults,
): Promise<MachinePlan> {
  const { kept, snapshot } = from
  if (snapshot !== undefined) {
    const { image, digest, repo, forwardPorts, isFormatted, upperBytes, memory = null } = snapshot
    const own = Object.entries(snapshot.environment).filter(
      ([variable, value]) => request.foreignEnvironment?.[variable] !== value,
    )
    const environment = { ...Object.fromEntries(own), ...request.environment }
    const same = { image, repo, forwardPorts, environment, isFormatted, upperBytes, memory }
    return { metadata: { ...newMetadata(request, digest, snapshot), ...same }, disk: 'copied' }
  }
  const digest = await images.digestOf(request.image)
  if (kept === undefined) return { metadata: newMetadata(request, digest, defaults), disk: 'new' }
  if (kept.digest !== digest)
    throw fault(
      'BACKEND_ERROR',
      `the files kept from the earlier workspace "${request.name}" depend on image ${kept.image} (${kept.digest}); create the workspace with that image`,
    )
  return { metadata: { ...kept, ...factsOf(request), isKept: false }, disk: 'kept' }
}

/** Returns the metadata of a VM with a new disk. */
export function newMetadata(request: BackendCreate, digest: string, defaults: MachineDefaults): Metadata {
  return {
    ...factsOf(request),
    version: 1,
    id: randomBytes(4).toString('hex'),
    digest,
    cpus: request.cpus || defaults.cpus,
    memoryMb: request.memoryMb || defaults.memoryMb,
    upperBytes: request.upperBytes || defaults.upperBytes,
    isFormatted: false,
    isKept: false,
    failure: '',
    run: null,
  }
}

/** Returns the metadata that comes from the request, also for a VM that adopts kept files. */
function factsOf(
  request: BackendCreate,
): Pick<
  Metadata,
  | 'name'
  | 'createdAt'
  | 'image'
  | 'repo'
  | 'localDir'
  | 'forwardPorts'
  | 'environment'
  | 'network'
  | 'labels'
  | 'wakes'
  | 'forkedFrom'
> {
  const { name, createdAt, image, repo, localDir, forwardPorts, environment, networkLimits, labels, wakes } =
    request
  return {
    name,
    image,
    repo,
    localDir,
    environment: { ...environment },
    createdAt: createdAt.toISOString(),
    forwardPorts: [...forwardPorts],
    network: networkLimits === undefined ? null : limitsToWire(networkLimits),
    labels: labels === undefined ? null : { ...labels },
    wakes: wakes ?? null,
    forkedFrom: request.fork?.from ?? null,
  }
}
