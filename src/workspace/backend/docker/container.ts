import type { ContainerCreateOptions } from 'dockerode'
import { WORKSPACE_DIR } from '../../workspace.ts'
import type { BackendCreate } from '../backend.ts'
import { INSIDE } from './inside-dirs.ts'
import type { Labels } from './labels.ts'

/**
 * What a workspace's container and its volume are called; the engine keeps the two apart. Names are unique without
 * regard to case, and the engine's are not: so they are always lower-case there.
 */
export function engineName(workspace: string): string {
  return `ws-${workspace.toLowerCase()}`
}

/** How a workspace's container is made. */
export function containerOptions(
  request: BackendCreate,
  labels: Labels,
  place: {
    readonly network: string | undefined
    readonly user: string | undefined
    /** This server's directory for it, to be mounted. */
    readonly insideDir: string | undefined
  },
): ContainerCreateOptions {
  const { network, user, insideDir } = place
  return {
    name: engineName(request.name),
    Hostname: request.name,
    Image: request.image,
    Labels: { ...labels },
    Env: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
    // Whatever the image would run, a workspace waits for its user.
    Entrypoint: ['sleep', 'infinity'],
    Cmd: [],
    WorkingDir: WORKSPACE_DIR,
    ...(user !== undefined && { User: user }),
    HostConfig: {
      // Reaps what sessions leave behind, and makes the wait end at once when asked to stop.
      Init: true,
      // Mounts and never Binds, whose colons a path could use to mount something else (threat W4).
      Mounts: [
        request.localDir === ''
          ? { Type: 'volume', Source: engineName(request.name), Target: WORKSPACE_DIR }
          : { Type: 'bind', Source: request.localDir, Target: WORKSPACE_DIR },
        ...(insideDir === undefined
          ? []
          : [{ Type: 'bind' as const, Source: insideDir, Target: INSIDE, ReadOnly: true }]),
      ],
      ...(request.cpus > 0 && { NanoCpus: request.cpus * 1e9 }),
      ...(request.memoryMb > 0 && { Memory: request.memoryMb * 2 ** 20 }),
      ...(network !== undefined && { NetworkMode: network }),
    },
  }
}
