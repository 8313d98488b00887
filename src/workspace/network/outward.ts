import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const CLASS = '/sys/class/net'
/** Kinds of interfaces that lead off this host, by the kernel's names. */
const OUTWARD_KINDS = /^DEVTYPE=(?:vlan|bond|team|wireguard|ppp|wwan|wlan|gre|ipip|vti|xfrm|macvlan)$/m
const IFF_TUN = 1
const MOST_NESTED = 4

/**
 * Returns the interfaces whose traffic leaves this host: those with a device or the default route, tunnels, bonds,
 * VLANs, and bridges with such a port. Container bridges, veth pairs and tap devices reach only guests on
 * this host. The frame filter uses the same rules (`native/net-filter/host-locator.cc`).
 */
export function outwardInterfaces(): readonly string[] {
  const withRoute = defaultRoutes()
  return readdirSync(CLASS)
    .filter((name) => name !== 'lo' && leadsOut(name, withRoute))
    .toSorted()
}

function leadsOut(name: string, withRoute: ReadonlySet<string>, depth = 0): boolean {
  if (withRoute.has(name) || existsSync(join(CLASS, name, 'device'))) return true
  const flags = read(join(CLASS, name, 'tun_flags'))
  if (flags !== '') return (Number(flags) & IFF_TUN) !== 0
  if (OUTWARD_KINDS.test(read(join(CLASS, name, 'uevent')))) return true
  return depth < MOST_NESTED && portsOf(name).some((port) => leadsOut(port, withRoute, depth + 1))
}

function portsOf(bridge: string): readonly string[] {
  try {
    return readdirSync(join(CLASS, bridge, 'brif'))
  } catch {
    return []
  }
}

/** Returns the interfaces with a default route. Source: proc(5), /proc/net/route and /proc/net/ipv6_route. */
function defaultRoutes(): ReadonlySet<string> {
  const names = new Set<string>()
  for (const line of read('/proc/net/route').split('\n').slice(1)) {
    const [name = '', destination, , , , , , mask] = line.split('\t')
    if (destination === '00000000' && mask === '00000000') names.add(name)
  }
  for (const line of read('/proc/net/ipv6_route').split('\n')) {
    const fields = line.trim().split(/\s+/)
    const name = fields[9] ?? ''
    if (/^0{32}$/.test(fields[0] ?? '') && fields[1] === '00' && name !== 'lo') names.add(name)
  }
  return names
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
