import { type NetworkPolicy, PRIVATE_NETWORKS } from './policy.ts'
import type { Resolvers } from './resolvers.ts'

/** A bridge on this host that workspaces are connected to. */
export interface GuestBridge {
  readonly name: string
  /** In CIDR notation. */
  readonly subnet: string
  /** The bridge's own address. */
  readonly gateway: string
  /** Ports bound to a VM's MAC and address; empty when an engine creates the ports. */
  readonly ports: readonly BridgePort[]
  /** Whether another program, such as a container engine, translates the addresses of outgoing packets. */
  readonly isTranslated: boolean
}

/** A port of a bridge and the VM it is bound to. */
export interface BridgePort {
  readonly device: string
  readonly mac: string
  readonly address: string
}

/** Input of rulesetOf. */
export interface RulesetParts {
  readonly bridge: GuestBridge
  readonly policy: NetworkPolicy
  /** Networks that a listed egress currently resolves to. */
  readonly allowed: readonly string[]
  /**
   * Interfaces that lead off the bridge's host; undefined when that is another machine, whose guest
   * interfaces are recognized by their usual names.
   */
  readonly outward: readonly string[] | undefined
  readonly resolvers: Resolvers
}

/** Networks that do not exist beyond the host. Source: IANA's IPv4 special-purpose address registry. */
export const LOCAL_NETWORKS = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
] as const

/**
 * Returns the nftables rules for one bridge, as a script that atomically replaces earlier ones. A guest's
 * packet may leave only through an interface that leads off this host, within the policy: never to the host,
 * another guest or another bridge. All chains run before those of other programs, which cannot allow what
 * these drop. Source: nft(8).
 */
export function rulesetOf(table: string, parts: RulesetParts): string {
  return [...emptied('inet', table), inetTable(table, parts), ...bridgeTable(table, parts.bridge)].join('\n')
}

/** Returns a script that removes the rules and succeeds without any. */
export function removalOf(table: string): string {
  return [...emptied('inet', table), ...emptied('bridge', table)].join('\n')
}

/** Adding the table first makes the deletion succeed when there was none. */
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
  // A server on the host's loopback interface is reached through the gateway's address.
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
    // Before any translation: the bridge may route to the loopback interface for DNS, and for nothing else.
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
    // No incoming connections, not even from a neighbor on the same bridge.
    `oifname "${name}" ct state != { established, related } drop`,
    `iifname != "${name}" accept`,
    ANSWERS,
    ...outwardRules(outward),
    `ip daddr { ${LOCAL_NETWORKS.join(', ')} } drop`,
    ...(servers === '' || !hasDns
      ? []
      : [`ip daddr { ${servers} } meta l4proto { tcp, udp } th dport 53 accept`]),
    ...egressRules(policy, allowed),
    '}',
    '}',
  ].join('\n')
}

/**
 * Answers are always allowed. Requests are judged packet by packet, so that new rules apply to open
 * connections as well.
 */
const ANSWERS = 'ct state established,related ct direction reply accept'

/** Interfaces of container engines and VMs, by the names that programs give them. */
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

/** Binds each port to its VM's MAC and address, including in ARP, and drops frames between ports. */
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
    // A probe for a duplicate address has no sender address yet.
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
