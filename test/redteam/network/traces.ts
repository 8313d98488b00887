import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Guest, Neighbor, NetworkParts } from './parts.ts'

/** Traces that attacks would leave on the host without reaching a canary. */
export function traces({ guest, neighbors }: NetworkParts, pingsBefore: number) {
  if (guest.kind === 'container') return []
  const neighborTable = command('ip', 'neigh')
  const stolen = neighbors.filter(({ address }) =>
    new RegExp(`^${address} .*${guest.mac}`, 'm').test(neighborTable),
  )
  const routes = command('ip', '-6', 'route') + command('ip', '-6', 'addr')
  const pings = echoes() - pingsBefore
  return [
    {
      id: 'trace/neighbor-table',
      tries: 'a neighbor’s address at the attacker’s MAC',
      isReached: stolen.length > 0,
      seen: `${stolen.length} entries`,
    },
    {
      id: 'trace/router',
      tries: 'the host takes the guest for a router',
      isReached: routes.includes('2001:db8:bad'),
      seen: 'routes and addresses',
    },
    {
      id: 'trace/echo',
      tries: 'the host answers a ping',
      isReached: pings > 0,
      seen: `${pings} echo requests`,
    },
    {
      id: 'trace/mac',
      tries: 'a MAC of another port in the bridge’s table',
      isReached: hasForeignMac(guest, neighbors),
      seen: 'forwarding table',
    },
  ]
}

/** The bridge must associate each neighbor's MAC only with its own port. */
function hasForeignMac({ name }: Guest, neighbors: readonly Neighbor[]): boolean {
  const table = command('bridge', 'fdb', 'show')
  const device = deviceOf(name)
  return (
    device !== undefined && neighbors.some(({ mac }) => mac !== '' && table.includes(`${mac} dev ${device}`))
  )
}

const devices = new Map<string, string>()
export function noteDevice(name: string, id: string): void {
  devices.set(name, `wst${id}`)
}
function deviceOf(name: string): string | undefined {
  return devices.get(name)
}

/** Returns the number of echo requests this network namespace has received. Source: proc(5), /proc/net/snmp. */
export function echoes(): number {
  const [names = '', values = ''] = readFileSync('/proc/net/snmp', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('Icmp:'))
  return Number(values.split(' ')[names.split(' ').indexOf('InEchos')])
}

function command(program: string, ...argv: readonly string[]): string {
  return execFileSync(program, argv, { encoding: 'utf8' })
}
