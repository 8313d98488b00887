import { engineName, forkImage } from './engine/labels.ts'
import type { ContainerCreateOptions, MountSettings } from 'dockerode'
import { WORKSPACE_DIR } from '../../workspace.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { BackendCreate } from '../backend.ts'
import { MOUNT_POINT } from './exec/mounted-socket-dirs.ts'
import type { Labels } from './engine/labels.ts'

/**
 * Half of the default weight: workspaces share among themselves what the server, the engine and the host
 * leave over.
 */
const CPU_SHARES = 512
/** Bounds the size of a container's log, in two files. */
const LOG_BOUNDS = { 'max-size': '8m', 'max-file': '2' } as const

/** Limits of every container, regardless of its image and user. */
export interface ContainerLimits {
  /** Maximum number of processes and threads. */
  readonly pidsLimit: number
  /** Memory limit of a container created without one. */
  readonly memoryMb: number
  /** Whether setuid programs gain no privileges; `sudo` does not work then. */
  readonly noNewPrivileges: boolean
  /** Runtime by the engine's name for it, such as `runsc`. */
  readonly runtime: string | undefined
  /** User namespace mode by the engine's name for it, such as Podman's `auto`. */
  readonly usernsMode: string | undefined
  /** Capabilities in addition to the engine's defaults, which lose NET_RAW. */
  readonly capAdd: readonly string[]
}

/** Options of a volume that does not start as a copy of the image's directory. */
export const NO_COPY = { NoCopy: true, Labels: {}, DriverConfig: { Name: '', Options: {} } }

/** Returns the mounts of a workspace's files, or of the empty directories for a build. */
function filesOf({ emptyDirs, localDir, name, fork }: BackendCreate): MountSettings[] {
  if (emptyDirs !== undefined)
    return emptyDirs.map((Target) => ({ Type: 'volume', Source: '', Target, VolumeOptions: NO_COPY }))
  if (localDir !== '') return [{ Type: 'bind', Source: localDir, Target: WORKSPACE_DIR }]
  // The files of a fork are complete, even if there are none.
  const options = fork === undefined ? {} : { VolumeOptions: NO_COPY }
  return [{ Type: 'volume', Source: engineName(name), Target: WORKSPACE_DIR, ...options }]
}

/** Returns the engine options for creating a workspace's container. */
export function containerOptions(
  request: BackendCreate,
  labels: Labels,
  place: {
    readonly network: string | undefined
    /** Whether the policy applies to the network. */
    readonly isIsolated: boolean
    readonly policy: NetworkPolicy | undefined
    readonly limits: ContainerLimits | undefined
    readonly user: string | undefined
    /** The server's socket directory for this workspace, to be mounted. */
    readonly mountedSocketDir: string | undefined
  },
): ContainerCreateOptions {
  const { network, isIsolated, policy, limits, user, mountedSocketDir } = place
  const memoryMb = request.memoryMb > 0 ? request.memoryMb : (limits?.memoryMb ?? 0)
  return {
    name: engineName(request.name),
    Hostname: request.name,
    Image: request.fork === undefined ? request.image : forkImage(request.fork.origin),
    Labels: { ...labels },
    Env: Object.entries(request.environment).map(([name, value]) => `${name}=${value}`),
    // The image's own command is never run: a workspace waits for its user.
    Entrypoint: ['sleep', 'infinity'],
    Cmd: [],
    // Programs of an image may not run where one is built, apart from those that are asked for.
    ...(request.emptyDirs === undefined
      ? { WorkingDir: WORKSPACE_DIR }
      : { Healthcheck: { Test: ['NONE'] } }),
    ...(user !== undefined && { User: user }),
    HostConfig: {
      // Reaps orphans of sessions, and lets the container stop immediately when asked.
      Init: true,
      // Mounts rather than Binds: a path with colons in a Bind could mount something else (threat W4).
      Mounts: [
        ...filesOf(request),
        ...(mountedSocketDir === undefined
          ? []
          : [{ Type: 'bind' as const, Source: mountedSocketDir, Target: MOUNT_POINT, ReadOnly: true }]),
      ],
      CpuShares: CPU_SHARES,
      // Every program inside can write to the main process's output.
      LogConfig: { Type: 'json-file', Config: LOG_BOUNDS },
      ...(request.cpus > 0 && { NanoCpus: request.cpus * 1e9 }),
      ...(memoryMb > 0 && { Memory: memoryMb * 2 ** 20 }),
      ...(limits !== undefined && { PidsLimit: limits.pidsLimit }),
      ...(limits?.runtime !== undefined && { Runtime: limits.runtime }),
      ...(limits?.usernsMode !== undefined && { UsernsMode: limits.usernsMode }),
      ...(limits?.noNewPrivileges === true && { SecurityOpt: ['no-new-privileges'] }),
      // With NET_RAW a container could send frames under another container's address.
      CapDrop: ['NET_RAW'],
      CapAdd: [...(limits?.capAdd ?? [])],
      ...((policy?.allowHostPorts.length ?? 0) > 0 && {
        ExtraHosts: ['host.docker.internal:host-gateway'],
      }),
      ...(network !== undefined && { NetworkMode: network }),
      // Some engines forward lookups from the host, where the network's rules do not apply. Source of the address: RFC 5737.
      ...(isIsolated &&
        policy?.egress === 'none' && { Dns: ['192.0.2.1'], DnsOptions: ['timeout:1', 'attempts:1'] }),
    },
  }
}
