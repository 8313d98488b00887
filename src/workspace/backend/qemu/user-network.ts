import { join } from 'node:path'
import { findProgram } from '../../../lib/process/find-program.ts'
import { findNetFilter } from '../../../native/net/net-filter.ts'
import { fault } from '../../errors.ts'
import { rulesFile, writeFilterRules } from '../microvm/network/filter-rules.ts'
import { awaitSocket } from '../microvm/monitor/await-socket.ts'
import type { Machine } from '../microvm/driver.ts'
import type { GuestAddress, NetworkPlan } from '../microvm/network/network.ts'
import { type Monitor, spawnMonitor } from '../microvm/monitor/spawn-monitor.ts'
import { NETWORK_SOCKET } from './command-line.ts'

/** The network that a guest sees: its router, which answers nothing unless ports of the host are open, and its DNS server. */
export const USER_NETWORK: GuestAddress = {
  address: '10.0.2.15',
  prefixLength: 24,
  gateway: '10.0.2.2',
  nameServers: ['10.0.2.3'],
}

/** Returns what user-mode networking lacks on this machine, as a sentence with a remedy; undefined when nothing is missing. */
export async function userNetworkMissing(): Promise<string | undefined> {
  if ((await findProgram('passt')) === undefined)
    return 'passt is not installed, which connects machines without root (Debian, Ubuntu, Fedora: the package passt)'
  return findNetFilter() === undefined
    ? 'the program workspace-net-filter was not built: npm run build:native'
    : undefined
}

/**
 * Starts the frame filter of a machine, and passt behind it; returns when it waits for the machine. passt opens the guest's
 * connections with the host's own sockets and so reaches all that the host reaches: what is forbidden, the filter refuses, by
 * each frame's addresses. Source: passt(1).
 *
 * @param user whom both become; undefined where the server is not root
 * @throws BACKEND_ERROR with nothing left running
 */
export async function startUserNetwork(
  { socketDir, monitorLog }: Machine,
  network: Extract<NetworkPlan, { is: 'user' }>,
  user: number | undefined,
  signal: AbortSignal,
): Promise<Monitor> {
  const missing = await userNetworkMissing()
  const passt = await findProgram('passt')
  const filter = findNetFilter()
  if (missing !== undefined || passt === undefined || filter === undefined)
    throw fault('BACKEND_ERROR', `the machine's network cannot be made: ${missing ?? 'passt is missing'}`)
  const { mac, policy, allowed } = network
  const { address, prefixLength, gateway, nameServers } = USER_NETWORK
  const [resolver = ''] = nameServers
  await writeFilterRules(socketDir, policy, allowed)
  const socket = join(socketDir, NETWORK_SOCKET)
  const argv = [
    socket,
    rulesFile(socketDir),
    mac,
    `${address}/${prefixLength}`,
    gateway,
    resolver,
    user === undefined ? '-' : `${user}:${user}`,
    '--',
    passt,
    ...`--foreground --quiet --fd 3 --ipv4-only --address ${address} --netmask ${prefixLength} --gateway ${gateway}`.split(
      ' ',
    ),
    // To the host's own resolver, on its loopback interface too; with --dns passt would forget which that is.
    ...`--dns-forward ${resolver} --tcp-ports none --udp-ports none`.split(' '),
    '--no-dhcp',
    '--no-dhcpv6',
    '--no-ndp',
    '--no-ra',
    // The gateway is the host's loopback interface, of which the filter lets through the open ports alone.
    ...(policy.allowHostPorts.length === 0 ? ['--no-map-gw'] : []),
    ...(user === undefined ? [] : ['--runas', `${user}:${user}`]),
  ]
  const monitor = await spawnMonitor(filter, argv, monitorLog)
  await awaitSocket(socket, monitor, monitorLog, signal)
  return monitor
}
