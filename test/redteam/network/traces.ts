import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Attack } from '../attack.ts'
import type { Surroundings } from './parts.ts'

interface Trace extends Attack {
  /** Returns what is found, in a few words; undefined if nothing is. */
  readonly find: (parts: Surroundings, pingsBefore: number) => string | undefined
}

/** Traces that attacks from machines would leave on the host without reaching a canary. */
export const TRACES: readonly Trace[] = [
  {
    id: 'trace/neighbor-table',
    tries: 'a neighbor’s address at the attacker’s MAC',
    find({ guest, neighbors }) {
      const table = command('ip', 'neigh')
      return neighbors.find(({ address }) => new RegExp(`^${address} .*${guest.mac}`, 'm').test(table))
        ?.address
    },
  },
  {
    id: 'trace/router',
    tries: 'the host takes the guest for a router',
    find: () => /.*2001:db8:bad.*/.exec(command('ip', '-6', 'route') + command('ip', '-6', 'addr'))?.[0],
  },
  {
    id: 'trace/echo',
    tries: 'the host answers a ping',
    find(_parts, pingsBefore) {
      const pings = echoes() - pingsBefore
      return pings > 0 ? `${pings} echo requests` : undefined
    },
  },
  {
    id: 'trace/mac',
    tries: 'a MAC of another port in the bridge’s table',
    // The bridge must associate each neighbor's MAC only with its own port.
    find({ guest: { device }, neighbors }) {
      if (device === undefined) return undefined
      const table = command('bridge', 'fdb', 'show')
      return neighbors.find(({ mac }) => mac !== '' && table.includes(`${mac} dev ${device}`))?.mac
    },
  },
]

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
