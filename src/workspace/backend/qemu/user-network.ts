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

/**
 * The network as a guest sees it: a router, which answers only if host ports are open, and its DNS server.
 */
export const USER_NETWORK: GuestAddress = {
  address: '10.0.2.15',
  prefixLength: 24,
  gateway: '10.0.2.2',
  nameServers: ['10.0.2.3'],
}

/**
 * Returns what is missing for user-mode networking, as a sentence with a remedy; undefined when nothing is.
 */
export async function userNetworkMissing(): Promise<string | undefined> {
  if ((await findProgram('passt')) === undefined)
    return 'passt, which connects VMs without root, is not installed (Debian, Ubuntu, Fedora: package passt)'
  return findNetFilter() === undefined
    ? 'workspace-net-filter is not built; run npm run build:native'
    : undefined
}

/**
 * Starts a VM's frame filter with passt behind it; resolves once it waits for the VM. passt opens the guest's
 * connections with host sockets and could therefore reach everything that the host reaches. The filter refuses
 * forbidden frames by their addresses. Source: passt(1).
 *
 * @param user UID that both switch to; undefined when the server is not root
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
    throw fault('BACKEND_ERROR', `the VM's network cannot be created: ${missing ?? 'passt is missing'}`)
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
    // Forwards DNS to the host's own resolver, even one on loopback; with --dns passt would not use that one.
    ...`--dns-forward ${resolver} --tcp-ports none --udp-ports none`.split(' '),
    '--no-dhcp',
    '--no-dhcpv6',
    '--no-ndp',
    '--no-ra',
    // The gateway address maps to the host's loopback interface, of which the filter admits only the open
    // ports.
    ...(policy.allowHostPorts.length === 0 ? ['--no-map-gw'] : []),
    ...(user === undefined ? [] : ['--runas', `${user}:${user}`]),
  ]
  const monitor = await spawnMonitor(filter, argv, monitorLog)
  await awaitSocket(socket, monitor, monitorLog, signal)
  return monitor
}
