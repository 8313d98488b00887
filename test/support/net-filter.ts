import type { ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { findNetFilter } from '../../src/native/net-filter.ts'
import { waitFor } from './wait-for.ts'

/** Starts the frame filter with passt behind it in a namespace, as the server does with a gateway that leads to the host. */
export async function startFilter(parts: {
  readonly namespace: string
  readonly socket: string
  readonly rules: string
  readonly mac: string
  readonly start: (namespace: string, argv: readonly string[]) => Promise<ChildProcess>
}): Promise<void> {
  const filter = findNetFilter()
  if (filter === undefined) throw new Error('workspace-net-filter is missing: npm run build:native')
  const argv = [
    filter,
    parts.socket,
    parts.rules,
    parts.mac,
    '10.0.2.15/24',
    '10.0.2.2',
    '10.0.2.3',
    '-',
    '--',
    '/usr/bin/passt',
    ...'--foreground --quiet --fd 3 --ipv4-only --address 10.0.2.15 --netmask 24 --gateway 10.0.2.2'.split(
      ' ',
    ),
    ...'--dns-forward 10.0.2.3 --tcp-ports none --udp-ports none'.split(' '),
    ...'--no-dhcp --no-dhcpv6 --no-ndp --no-ra'.split(' '),
  ]
  const ready = ['sh', '-c', 'echo started; exec "$@" 2>/dev/null', 'sh', ...argv]
  await parts.start(parts.namespace, ready)
  await waitFor('the filter', () => existsSync(parts.socket), 20_000)
}
