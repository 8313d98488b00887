import { randomBytes } from 'node:crypto'
import type { BackendCreate } from '../backend.ts'
import type { Metadata } from './metadata.ts'

export interface MachineDefaults {
  readonly cpus: number
  readonly memoryMb: number
  readonly upperBytes: number
}

/** What is known of a machine before anything of it is made. */
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
export function factsOf(
  request: BackendCreate,
): Pick<Metadata, 'name' | 'createdAt' | 'image' | 'repo' | 'localDir' | 'forwardPorts' | 'environment'> {
  const { name, createdAt, image, repo, localDir, forwardPorts, environment } = request
  return {
    name,
    image,
    repo,
    localDir,
    environment: { ...environment },
    createdAt: createdAt.toISOString(),
    forwardPorts: [...forwardPorts],
  }
}
