import { duration, named, optionalText, section, text, texts } from '../../../lib/config/fields.ts'
import { Type } from '../../../lib/schema/type.ts'

/** Config section `kubernetes`. */
export const kubernetesSection = section({
  kubeconfig: optionalText(
    'kubeconfig file with the cluster and its credentials; default the service account of the pod this server runs in',
  ),
  namespace: text('workspaces', 'namespace of the workspaces, which must exist'),
  agent_image: text(
    'workspace-agent:1',
    'image of scripts/agent-image, from which pods get their agent; the cluster must be able to pull it',
  ),
  storage_class: optionalText("storage class of the workspaces' volumes; default the cluster's default"),
  runtime_class: optionalText('runtime class of the pods, such as gvisor or kata; default none'),
  node_selector: named(Type.String(), 'labels of the nodes that may run workspaces'),
  cluster_networks: texts(
    'networks of pods, services and nodes, such as 10.0.0.0/8, which workspaces must not reach',
  ),
  server_networks: texts(
    "networks of this server, from which pods accept connections to their agent; default all, which need the pod's key as well",
  ),
  start_timeout: duration('10m', 'how long a pod may take to start, including pulling its image'),
})
