import { engineName } from './engine/labels.ts'
import type { ContainerCreateOptions } from 'dockerode'
import { WORKSPACE_DIR } from '../../workspace.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { BackendCreate } from '../backend.ts'
import { INSIDE } from './exec/inside-dirs.ts'
import type { Labels } from './engine/labels.ts'

/** Half of what other control groups have: workspaces share among themselves what the server, the engine and its host leave. */
const CPU_SHARES = 512
/** How long a container's log may grow, in two files. */
const LOG_BOUNDS = { 'max-size': '8m', 'max-file': '2' } as const

/** What every container is bounded by, whatever its image and its user ask for. */
export interface ContainerLimits {
  /** Processes and threads at once. */
  readonly pidsLimit: number
  /** Of a container whose creation names no memory. */
  readonly memoryMb: number
  /** Whether programs gain no privileges by setuid files; `sudo` does not work then. */
  readonly noNewPrivileges: boolean
  /** The engine's name for another runtime, such as `runsc`. */
  readonly runtime: string | undefined
  /** The engine's name for another user namespace, such as Podman's `auto`. */
  readonly usernsMode: string | undefined
  /** Capabilities beside the engine's default ones without NET_RAW. */
  readonly capAdd: readonly string[]
}

/** Returns how a workspace's container is created. */
export function containerOptions(
  request: BackendCreate,
  labels: Labels,
  place: {
    readonly network: string | undefined
    readonly policy: NetworkPolicy | undefined
    readonly limits: ContainerLimits | undefined
    readonly user: string | undefined
    /** This server's directory for it, to be mounted. */
    readonly insideDir: string | undefined
  },
): ContainerCreateOptions {
  const { network, policy, limits, user, insideDir } = place
  const memoryMb = request.memoryMb > 0 ? request.memoryMb : (limits?.memoryMb ?? 0)
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
      CpuShares: CPU_SHARES,
      // Every program inside can write to what the container's own process prints.
      LogConfig: { Type: 'json-file', Config: LOG_BOUNDS },
      ...(request.cpus > 0 && { NanoCpus: request.cpus * 1e9 }),
      ...(memoryMb > 0 && { Memory: memoryMb * 2 ** 20 }),
      ...(limits !== undefined && { PidsLimit: limits.pidsLimit }),
      ...(limits?.runtime !== undefined && { Runtime: limits.runtime }),
      ...(limits?.usernsMode !== undefined && { UsernsMode: limits.usernsMode }),
      ...(limits?.noNewPrivileges === true && { SecurityOpt: ['no-new-privileges'] }),
      // With it a container could send frames in the name of others.
      CapDrop: ['NET_RAW'],
      CapAdd: [...(limits?.capAdd ?? [])],
      ...((policy?.allowHostPorts.length ?? 0) > 0 && {
        ExtraHosts: ['host.docker.internal:host-gateway'],
      }),
      ...(network !== undefined && { NetworkMode: network }),
    },
  }
}
