import type { Backend } from '../backend/backend.ts'
import type { WorkspaceConfig } from '../config.ts'

/** Creates the backend of a cluster if it is enabled; its client is loaded only then. */
export async function clusterBackends(
  config: WorkspaceConfig,
  serverId: string,
): Promise<readonly Backend[]> {
  if (!config.enabledBackends.includes('kubernetes')) return []
  const { clusterAccess } = await import('../backend/kubernetes/api/cluster-access.ts')
  const { KubernetesBackend } = await import('../backend/kubernetes/kubernetes-backend.ts')
  const { kubernetes, network, upperSizeDefaultBytes } = config
  const { kubeconfig, namespace, agentImage, storageClass, runtimeClass, nodeSelector, startTimeoutMs } =
    kubernetes
  return [
    new KubernetesBackend({
      serverId,
      access: () => clusterAccess(kubeconfig),
      namespace,
      agentImage,
      storageClass,
      runtimeClass,
      nodeSelector,
      policy: network,
      networks: { cluster: kubernetes.clusterNetworks, server: kubernetes.serverNetworks },
      startTimeoutMs,
      diskBytes: upperSizeDefaultBytes,
    }),
  ]
}
