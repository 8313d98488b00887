import { AGENT_PORT } from '../../../lib/guest/protocol.ts'
import { fault } from '../../errors.ts'
import {
  isNetwork,
  isPartOf,
  type NetworkPolicy,
  PRIVATE_NETWORKS,
  splitNetwork,
} from '../../network/policy.ts'
import { LABEL } from './names.ts'

/** Metadata services of clouds and other neighbors of a node. Source: RFC 3927. */
const LINK_LOCAL = '169.254.0.0/16'
const DNS_PORTS = [
  { protocol: 'UDP', port: 53 },
  { protocol: 'TCP', port: 53 },
] as const

/** Networks that a policy must know. */
export interface PolicyNetworks {
  /** Networks of pods, services and nodes, which workspaces never reach. */
  readonly cluster: readonly string[]
  /** Networks of this server, from which the agent is reached; none for all, which need a key as well. */
  readonly server: readonly string[]
}

/**
 * Returns the NetworkPolicy of one server's workspaces, or of one workspace with its own limits.
 *
 * @param at its name, the server, and the policy label of the pods that it selects
 * @throws INVALID_REQUEST when the policy has host names, which the cluster cannot enforce
 */
export function networkPolicyOf(
  {
    name,
    serverId,
    selected,
  }: { readonly name: string; readonly serverId: string; readonly selected: string },
  policy: NetworkPolicy,
  networks: PolicyNetworks,
) {
  const from = networks.server.map((cidr) => ({ ipBlock: { cidr: cidrOf(cidr) } }))
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'workspace', [LABEL.server]: serverId } },
    spec: {
      podSelector: { matchLabels: { [LABEL.server]: serverId, [LABEL.policy]: selected } },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [{ ports: [{ protocol: 'TCP', port: AGENT_PORT }], ...(from.length > 0 && { from }) }],
      egress: egressRules(policy, networks.cluster),
    },
  }
}

function egressRules(
  { egress, isPublicOnly = false }: NetworkPolicy,
  cluster: readonly string[],
): readonly object[] {
  if (egress === 'none') return []
  const denied = [LINK_LOCAL, ...cluster]
  const dns = {
    ports: DNS_PORTS,
    to: [
      {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
        podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
      },
    ],
  }
  if (egress === 'open' || egress === 'internet') {
    const except = egress === 'open' ? denied : [...new Set([...denied, ...PRIVATE_NETWORKS])]
    return [dns, { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: except.map(cidrOf) } }] }]
  }
  const name = egress.find((entry) => !isNetwork(entry))
  if (name !== undefined)
    throw fault(
      'INVALID_REQUEST',
      `network.egress: "${name}" is a host name, which a NetworkPolicy of the cluster cannot enforce; use networks, or an egress profile`,
    )
  const except = isPublicOnly ? [...denied, ...PRIVATE_NETWORKS] : denied
  const to = egress.map((entry) => {
    // An exception must lie within the network that it is an exception of.
    const inner = except.map(cidrOf).filter((each) => isPartOf(each, entry))
    return { ipBlock: { cidr: cidrOf(entry), ...(inner.length > 0 && { except: inner }) } }
  })
  return to.length === 0 ? [dns] : [dns, { to }]
}

function cidrOf(network: string): string {
  return splitNetwork(network).join('/')
}
