import { type NetworkPolicy, PRIVATE_NETWORKS } from './policy.ts'
import type { Resolvers } from './resolvers.ts'

/** A bridge of this host's that workspaces are connected to. */
export interface GuestBridge {
  readonly name: string
  /** In CIDR notation. */
  readonly subnet: string
  /** The bridge's own address. */
  readonly gateway: string
  /** Ports that a machine's MAC and address are bound to; empty where an engine makes the ports. */
  readonly ports: readonly BridgePort[]
  /** Whether another program translates the addresses of what leaves it, such as a container engine. */
  readonly isTranslated: boolean
}

export interface BridgePort {
  readonly device: string
  readonly mac: string
  readonly address: string
}

export interface RulesetParts {
  readonly bridge: GuestBridge
  readonly policy: NetworkPolicy
  /** Networks that a listed egress stands for now. */
  readonly allowed: readonly string[]
  /** Interfaces that lead away from the bridge's host; undefined where that is another machine, of which only the usual names are known. */
  readonly outward: readonly string[] | undefined
  readonly resolvers: Resolvers
}

/** Addresses that nothing beyond the host has. Source: IANA's IPv4 special-purpose address registry. */
const NEVER = '0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 192.0.0.0/24, 224.0.0.0/4, 240.0.0.0/4'

/**
 * Returns nftables' rules for one bridge, as a script that puts them in place of earlier ones in one step. A packet of a guest's goes out
 * by an interface that leads away from this host, as far as the policy allows, or nowhere: not to the host, to another guest, to another
 * bridge. All chains come before those of others, whose rules cannot allow what these drop. Source: nft(8).
 */
export function rulesetOf(table: string, parts: RulesetParts): string {
  return [...emptied('inet', table), inetTable(table, parts), ...bridgeTable(table, parts.bridge)].join('\n')
}

/** Returns a script that removes the rules, also where there are none. */
export function removalOf(table: string): string {
  return [...emptied('inet', table), ...emptied('bridge', table)].join('\n')
}

/** Adding first makes the deletion succeed where there was none. */
function emptied(family: 'inet' | 'bridge', table: string): readonly string[] {
  return [`add table ${family} ${table}`, `delete table ${family} ${table}`]
}

function inetTable(table: string, { bridge, policy, allowed, outward, resolvers }: RulesetParts): string {
  const { name, subnet, gateway, isTranslated } = bridge
  const ports = policy.allowHostPorts.join(', ')
  const hasDns = policy.egress !== 'none'
  const servers = resolvers.reachable.join(', ')
  const translation = isTranslated
    ? []
    : [
        'chain outgoing {',
        'type nat hook postrouting priority srcnat; policy accept;',
        `ip saddr ${subnet} oifname != "${name}" masquerade`,
        '}',
      ]
  // A server on the host's loopback interface is reached by the gateway's address.
  const localDns =
    resolvers.local === undefined || !hasDns || isTranslated
      ? []
      : [
          'chain resolving {',
          'type nat hook prerouting priority dstnat; policy accept;',
          `iifname "${name}" ip daddr ${gateway} meta l4proto { tcp, udp } th dport 53 dnat ip to ${resolvers.local}`,
          '}',
        ]
  return [
    `table inet ${table} {`,
    // Before any translation: a bridge that may route to the loopback interface for DNS must not lead there otherwise.
    'chain arriving {',
    'type filter hook prerouting priority raw; policy accept;',
    `iifname "${name}" ip daddr 127.0.0.0/8 drop`,
    `iifname "${name}" meta nfproto ipv6 drop`,
    '}',
    ...translation,
    ...localDns,
    'chain input {',
    'type filter hook input priority filter - 10; policy accept;',
    `iifname != "${name}" accept`,
    ANSWERS,
    ...(localDns.length === 0 ? [] : ['ct status dnat ip daddr 127.0.0.0/8 th dport 53 accept']),
    ...(servers === '' || !hasDns
      ? []
      : [`ip daddr { ${servers} } meta l4proto { tcp, udp } th dport 53 accept`]),
    ...(ports === '' ? [] : [`meta l4proto { tcp, udp } th dport { ${ports} } accept`]),
    'drop',
    '}',
    'chain forward {',
    'type filter hook forward priority filter - 10; policy accept;',
    // Nobody comes in, neither a neighbor on the same bridge.
    `oifname "${name}" ct state != { established, related } drop`,
    `iifname != "${name}" accept`,
    ANSWERS,
    ...outwardRules(outward),
    `ip daddr { ${NEVER} } drop`,
    ...(servers === '' || !hasDns
      ? []
      : [`ip daddr { ${servers} } meta l4proto { tcp, udp } th dport 53 accept`]),
    ...egressRules(policy, allowed),
    '}',
    '}',
  ].join('\n')
}

/** A guest may answer; what it asks is judged packet by packet, so that rules hold for connections that are already open. */
const ANSWERS = 'ct state established,related ct direction reply accept'

/** Bridges and ports of container engines and of machines, by the names that programs give them. */
const INWARD = [
  'docker*',
  'br-*',
  'veth*',
  'wsdk*',
  'wsvm*',
  'wst*',
  'virbr*',
  'cni*',
  'podman*',
  'lxc*',
] as const

function outwardRules(outward: readonly string[] | undefined): readonly string[] {
  if (outward === undefined) return INWARD.map((name) => `oifname "${name}" drop`)
  return [
    outward.length === 0 ? 'drop' : `oifname != { ${outward.map((each) => `"${each}"`).join(', ')} } drop`,
  ]
}

function egressRules({ egress }: NetworkPolicy, allowed: readonly string[]): readonly string[] {
  switch (egress) {
    case 'open':
      return ['accept']
    case 'internet':
      return [`ip daddr { ${PRIVATE_NETWORKS.join(', ')} } drop`, 'accept']
    case 'none':
      return ['drop']
    default:
      return [...allowed.map((network) => `ip daddr ${network} accept`), 'drop']
  }
}

/** Binds each port to its machine's MAC and address, in ARP as well, and lets no frame pass from port to port. */
function bridgeTable(table: string, { ports }: GuestBridge): readonly string[] {
  if (ports.length === 0) return emptied('bridge', table)
  const elements = (of: (port: BridgePort) => string) => `elements = { ${ports.map(of).join(', ')} }`
  return [
    ...emptied('bridge', table),
    `table bridge ${table} {`,
    `set taps { type ifname; ${elements(({ device }) => `"${device}"`)} }`,
    `set macs { type ifname . ether_addr; ${elements(({ device, mac }) => `"${device}" . ${mac}`)} }`,
    `set addresses { type ifname . ipv4_addr; ${elements(({ device, address }) => `"${device}" . ${address}`)} }`,
    'chain arriving {',
    'type filter hook prerouting priority -300; policy accept;',
    'iifname != @taps accept',
    'iifname . ether saddr != @macs drop',
    'iifname . arp saddr ether @macs iifname . arp saddr ip @addresses accept',
    // A probe for an address in use has no sender yet.
    'iifname . arp saddr ether @macs arp operation request arp saddr ip 0.0.0.0 accept',
    'iifname . ip saddr @addresses accept',
    'drop',
    '}',
    'chain forward {',
    'type filter hook forward priority -300; policy accept;',
    'iifname @taps drop',
    '}',
    '}',
  ]
}
