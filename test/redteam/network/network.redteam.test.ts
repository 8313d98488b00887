import { deepEqual } from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { DisposalStack } from '../../../src/lib/lifetime/disposal-stack.ts'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { DockerBackend } from '../../../src/workspace/backend/docker/docker-backend.ts'
import { macOf } from '../../../src/workspace/backend/microvm/network/network.ts'
import type { NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import { NETWORKS_FILE } from '../../../src/workspace/state-dir.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import { type Attack, type Outcome, testAttacks } from '../attack.ts'
import { startEngine } from '../engine.ts'
import { attackNetwork, runInside, startNeighborCanary, triesFrom } from './attack-network.ts'
import { type Hit, startCanary, startCanaryIn } from './canary.ts'
import { enteredNamespaces } from './namespaces.ts'
import { BROADCAST } from './packets.ts'
import { type Guest, KINDS, LOOPBACK_PORT, OPEN_PORT, type Place, PORT } from './parts.ts'
import { TRACES } from './traces.ts'

/** The image that machines boot from: the containers' image, whose small init starts within seconds. */
const MACHINE_IMAGE = 'containers'
const CONTAINER_IMAGE = 'workspace-base:1'
const POLICY: NetworkPolicy = { allowHostPorts: [OPEN_PORT], egress: 'open' }

/** Descriptions of the host's addresses that exist once guests run, in alphabetical order. */
const HOST_ADDRESSES = ['docker0', 'port-t1-v6', 'port-t2-v6', 'wsdk', 'wsdk-v6', 'wsvm', 'wsvm-v6']

const opened = new DisposalStack()
const outcomes = new Map<string, ReadonlyMap<string, Outcome>>()
beforeAll(async () => {
  const { beyond, foreign } = enteredNamespaces()
  const hits: Hit[] = []
  const onHit = (hit: Hit): void => void hits.push(hit)
  for (const [name, address, port] of [
    ['host', '::', PORT],
    ['host loopback', '127.0.0.1', LOOPBACK_PORT],
    ['open port', '::', OPEN_PORT],
  ] as const)
    opened.defer(await startCanary(name, address, port, onHit))
  opened.defer(await startCanaryIn(beyond, 'beyond', PORT, onHit))
  opened.defer(await startCanaryIn(foreign, 'foreign', PORT, onHit))

  const stateDir = mkdtempSync(join(tmpdir(), 'redteam-'))
  const engine = await startEngine(CONTAINER_IMAGE)
  opened.defer(engine.remove)
  const docker = new DockerBackend({
    host: engine.address,
    network: undefined,
    policy: POLICY,
    networksFile: join(stateDir, NETWORKS_FILE),
    helperImage: CONTAINER_IMAGE,
    serverId: randomUUID(),
  })
  const roots = machineRoots()
  const tapRoots = machineRoots()
  const user = await qemuBackend(roots, { network: 'user', policy: POLICY })
  const tap = await qemuBackend(tapRoots, { network: 'tap', policy: POLICY })
  const server = await startWorkspaceServer({ backends: () => [docker, user], stateDir })
  opened.defer(() => roots.remove())
  opened.defer(() => tapRoots.remove())
  opened.defer(() => rmSync(stateDir, { recursive: true, force: true }))
  opened.defer(() => server.stop())
  await tap.open(() => undefined)
  opened.defer(() => tap.close())

  const create = async (backend: Backend, name: string, image: string) => {
    const workspace = await backend.create(
      backendCreate(name, image, { createdAt: new Date() }),
      () => undefined,
      new AbortController().signal,
    )
    opened.defer(() => backend.remove(name, false))
    return workspace
  }
  const c1 = await create(docker, 'c1', CONTAINER_IMAGE)
  const c2 = await create(docker, 'c2', CONTAINER_IMAGE)
  const t1 = await create(tap, 't1', MACHINE_IMAGE)
  const t2 = await create(tap, 't2', MACHINE_IMAGE)
  const u1 = await create(user, 'u1', MACHINE_IMAGE)
  const neighbors = [
    {
      name: 'container',
      address: c2.ipAddress,
      mac: '',
      hits: await startNeighborCanary({ backend: docker, name: 'c2' }),
    },
    {
      name: 'machine',
      address: t2.ipAddress,
      mac: macOf(t2.containerId),
      hits: await startNeighborCanary({ backend: tap, name: 't2' }),
    },
  ]
  const hostAddresses = addressesOf([t1, t2])
  const servicePorts = { api: server.httpPort, ssh: server.sshPort }
  const guests: readonly Guest[] = [
    {
      kind: 'container',
      name: 'c1',
      backend: docker,
      address: c1.ipAddress,
      gateway: await gatewayOf(docker, 'c1'),
      mac: '',
      gatewayMac: '',
    },
    {
      kind: 'vm-user',
      name: 'u1',
      backend: user,
      address: '10.0.2.15',
      gateway: '10.0.2.2',
      mac: macOf(u1.containerId),
      gatewayMac: BROADCAST,
    },
    {
      kind: 'vm-tap',
      name: 't1',
      backend: tap,
      address: t1.ipAddress,
      gateway: await gatewayOf(tap, 't1'),
      mac: macOf(t1.containerId),
      gatewayMac: macOfBridge(),
      device: `wst${t1.containerId}`,
    },
  ]
  for (const guest of guests)
    outcomes.set(guest.kind, await attackNetwork({ guest, neighbors, hostAddresses, servicePorts, hits }))
})
afterAll(() => opened.close())

// Everything that root in a guest can send, from a container and from machines on both kinds of network.
for (const kind of KINDS)
  testAttacks(kind, attacksFrom(kind), ({ id }) => {
    const outcome = outcomes.get(kind)?.get(id)
    if (outcome === undefined) throw new Error('it was not played')
    return outcome
  })

/** Lists the attacks from a guest that has no address yet. */
function attacksFrom(kind: Place['kind']): readonly Attack[] {
  const [address, mac] = ['0.0.0.0', BROADCAST]
  const tries = triesFrom({
    guest: { kind, address, gateway: address, mac, gatewayMac: mac },
    neighbors: ['container', 'machine'].map((name) => ({ name, address, mac })),
    hostAddresses: Object.fromEntries(HOST_ADDRESSES.map((name) => [name, address])),
    servicePorts: { api: 0, ssh: 0 },
  })
  return kind === 'container' ? tries : [...tries, ...TRACES]
}

/** Returns the addresses of the host's bridges, and of the ports that machines have on them, by description. */
function addressesOf(
  machines: readonly { readonly name: string; readonly containerId: string }[],
): Readonly<Record<string, string>> {
  const output = execFileSync('ip', ['-o', 'address', 'show'], { encoding: 'utf8' })
  const found = [...output.matchAll(/^\d+:\s+(docker0|ws\w+)\s+inet6?\s+([\da-f.:]+)/gm)]
  const addresses = Object.fromEntries(
    found.map(([, device = '', address = '']) => {
      const machine = machines.find(({ containerId }) => device === `wst${containerId}`)
      const name = machine === undefined ? device.replace(/^(wsdk|wsvm).*/, '$1') : `port-${machine.name}`
      return [
        address.includes(':') ? `${name}-v6` : name,
        address.startsWith('fe80') ? `${address}%2` : address,
      ]
    }),
  )
  deepEqual(Object.keys(addresses).toSorted(), HOST_ADDRESSES, 'the host has other addresses')
  return addresses
}

/** Returns a guest's router from its routing table. Source: proc(5), /proc/net/route. */
async function gatewayOf(backend: Backend, name: string): Promise<string> {
  const table = await runInside({ backend, name }, ['cat', '/proc/net/route'])
  const [, hex] = /^\S+\t00000000\t([0-9A-F]{8})/m.exec(table) ?? []
  if (hex === undefined) throw new Error(`${name} has no default route`)
  return [...Buffer.from(hex, 'hex')].toReversed().join('.')
}

function macOfBridge(): string {
  const [path = ''] = globSync('/sys/class/net/wsvm*')
  return readFileSync(`${path}/address`, 'utf8').trim()
}
