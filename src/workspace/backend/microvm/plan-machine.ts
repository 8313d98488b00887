import { randomBytes } from 'node:crypto'
import { fault } from '../../errors.ts'
import type { ImageStore } from '../../image/image-store.ts'
import { limitsToWire } from '../../network/narrow.ts'
import type { BackendCreate } from '../backend.ts'
import type { Metadata } from './files/metadata.ts'
import type { SnapshotRecord } from './files/snapshot-record.ts'

export interface MachineDefaults {
  readonly cpus: number
  readonly memoryMb: number
  readonly upperBytes: number
}

/** What a machine is to be, and where its disk comes from. */
interface MachinePlan {
  readonly metadata: Metadata
  readonly disk: 'new' | 'kept' | 'copied'
}

/**
 * What is known of a machine before anything of it is made.
 *
 * @throws IMAGE_NOT_FOUND, and BACKEND_ERROR where kept files do not fit
 * @param kept what an earlier workspace of that name left
 * @param snapshot what its disk is to be a copy of
 */
export async function planMachine(
  request: BackendCreate,
  from: { readonly kept: Metadata | undefined; readonly snapshot: SnapshotRecord | undefined },
  images: ImageStore,
  defaults: MachineDefaults,
): Promise<MachinePlan> {
  const { kept, snapshot } = from
  if (snapshot !== undefined) {
    const { image, digest, repo, forwardPorts, environment, isFormatted, upperBytes } = snapshot
    const same = { image, repo, forwardPorts, environment, isFormatted, upperBytes }
    return { metadata: { ...newMetadata(request, digest, snapshot), ...same }, disk: 'copied' }
  }
  const digest = await images.digestOf(request.image)
  if (kept === undefined) return { metadata: newMetadata(request, digest, defaults), disk: 'new' }
  if (kept.digest !== digest)
    throw fault(
      'BACKEND_ERROR',
      `the files kept from the earlier workspace "${request.name}" lie above image ${kept.image} (${kept.digest}), which must be used again`,
    )
  return { metadata: { ...kept, ...factsOf(request), isKept: false }, disk: 'kept' }
}

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

/** What a creation says of a machine, and what one that takes over kept files says anew. */
function factsOf(
  request: BackendCreate,
): Pick<
  Metadata,
  'name' | 'createdAt' | 'image' | 'repo' | 'localDir' | 'forwardPorts' | 'environment' | 'network'
> {
  const { name, createdAt, image, repo, localDir, forwardPorts, environment, networkLimits } = request
  return {
    name,
    image,
    repo,
    localDir,
    environment: { ...environment },
    createdAt: createdAt.toISOString(),
    forwardPorts: [...forwardPorts],
    network: networkLimits === undefined ? null : limitsToWire(networkLimits),
  }
}
