import { join } from 'node:path'
import type { Logger } from '../../lib/log/logger.ts'
import type { Backend } from '../backend/backend.ts'
import { DockerBackend } from '../backend/docker/docker-backend.ts'
import { MountedSocketDirs } from '../backend/docker/exec/mounted-socket-dirs.ts'
import type { PulledImages } from '../backend/docker/images/pulled-images.ts'
import type { WorkspaceConfig } from '../config.ts'
import { mountedSocketRoot, NETWORKS_FILE, type StateDir } from '../state-dir.ts'
import { clusterBackends } from './configured-cluster.ts'
import { microVmBackends } from './configured-machines.ts'

/** Creates the backends that the configuration enables. */
export async function configuredBackends(
  config: WorkspaceConfig,
  { path, serverId }: StateDir,
  pulled: PulledImages,
  logger: Logger,
): Promise<readonly Backend[]> {
  const { docker } = config
  const others = [...microVmBackends(config), ...(await clusterBackends(config, serverId))]
  if (!config.enabledBackends.includes('docker')) return others
  // Everything works without them, but more slowly.
  const mountedSocketDirs = await MountedSocketDirs.own(mountedSocketRoot(path)).catch((error: unknown) => {
    logger.warn({ err: error }, 'programs in workspaces run over the slower engine stream')
    return undefined
  })
  return [
    new DockerBackend({
      host: docker.host,
      network: docker.network,
      limits: docker,
      policy: config.network,
      networksFile: join(path, NETWORKS_FILE),
      helperImage: config.defaultImage,
      serverId,
      mountedSocketDirs,
      pulled,
    }),
    ...others,
  ]
}
