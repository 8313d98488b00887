import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backend } from '../../../src/workspace/backend/backend.ts'
import { DockerBackend } from '../../../src/workspace/backend/docker/docker-backend.ts'
import { macOf } from '../../../src/workspace/backend/microvm/network/network.ts'
import type { NetworkPolicy } from '../../../src/workspace/network/policy.ts'
import { backendCreate } from '../../support/workspace/backend/backend-create.ts'
import { machineRoots, qemuBackend } from '../../support/vm/vm-server.ts'
import { startWorkspaceServer } from '../../support/workspace/server/test-server.ts'
import type { Chapter } from '../attack.ts'
import { BROADCAST } from './packets.ts'
import { type Hit, startCanary, startCanaryIn } from './canary.ts'
import type { Namespaces } from './namespaces.ts'
import { attackNetwork, runInside, startNeighborCanary } from './attack-network.ts'
import { type Guest, LOOPBACK_PORT, type Neighbor, OPEN_PORT, PORT } from './parts.ts'
import { noteDevice } from './traces.ts'
import { startEngine } from '../engine.ts'

/** The image that machines boot from: the containers' image, whose small init starts within seconds. */
const MACHINE_IMAGE = 'containers'
const CONTAINER_IMAGE = 'workspace-base:1'
const POLICY: NetworkPolicy = { allowHostPorts: [OPEN_PORT], egress: 'open' }

/** Everything that root in a guest can send, from a container and from machines on both kinds of network. */
export function networkChapter(namespaces: Namespaces): Chapter {
  return {
    name: 'network',
    async play(report) {
      const closers: (() => unknown)[] = []
      try {
        const hits: Hit[] = []
        const onHit = (hit: Hit): void => void hits.push(hit)
        for (const [name, address, port] of [
          ['host', '::', PORT],
          ['host loopback', '127.0.0.1', LOOPBACK_PORT],
          ['open port', '::', OPEN_PORT],
        ] as const)
          closers.push(await startCanary(name, address, port, onHit))
        closers.push(
          await startCanaryIn(namespaces.beyond, 'beyond', PORT, onHit),
          await startCanaryIn(namespaces.foreign, 'foreign', PORT, onHit),
        )

        const engine = await startEngine(CONTAINER_IMAGE)
        closers.push(engine.remove)
        const docker = new DockerBackend({
          host: engine.address,
          network: undefined,
          policy: POLICY,
          helperImage: CONTAINER_IMAGE,
          serverId: randomUUID(),
        })
        const roots = machineRoots()
        const tapRoots = machineRoots()
        const user = await qemuBackend(roots, { network: 'user', policy: POLICY })
        const tap = await qemuBackend(tapRoots, { network: 'tap', policy: POLICY })
        const stateDir = mkdtempSync(join(tmpdir(), 'redteam-'))
        const server = await startWorkspaceServer({ backends: () => [docker, user], stateDir })
        closers.push(
          () => roots.remove(),
          () => tapRoots.remove(),
          () => rmSync(stateDir, { recursive: true, force: true }),
          () => server.stop(),
        )
        await tap.open(() => undefined)
        closers.push(() => tap.close())

        const create = async (backend: Backend, name: string, image: string) => {
          const workspace = await backend.create(
            backendCreate(name, image, { createdAt: new Date() }),
            () => undefined,
            new AbortController().signal,
          )
          closers.push(() => backend.remove(name, false))
          return workspace
        }
        const containers = await Promise.all(
          ['c1', 'c2'].map((name) => create(docker, name, CONTAINER_IMAGE)),
        )
        const taps = [await create(tap, 't1', MACHINE_IMAGE), await create(tap, 't2', MACHINE_IMAGE)]
        const [u1] = [await create(user, 'u1', MACHINE_IMAGE)]
        for (const { name, containerId } of taps) noteDevice(name, containerId)
        const [c1, c2] = containers
        const [t1, t2] = taps
        if (c1 === undefined || c2 === undefined || t1 === undefined || t2 === undefined || u1 === undefined)
          throw new Error('no guests')
        const neighbors: readonly Neighbor[] = [
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
        const hostAddresses = { ...bridgeAddresses() }
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
            gatewayMac: macOfBridge(hostAddresses),
          },
        ]
        for (const guest of guests)
          await attackNetwork({ guest, neighbors, hostAddresses, servicePorts, hits }, report)
      } finally {
        for (const close of closers.toReversed())
          await Promise.resolve(close()).catch((error: unknown) => console.log('cleaning up:', error))
      }
    },
  }
}

/** Returns the addresses of the host's bridges by name. */
function bridgeAddresses(): Readonly<Record<string, string>> {
  const output = execFileSync('ip', ['-o', 'address', 'show'], { encoding: 'utf8' })
  const found = [...output.matchAll(/^\d+:\s+(docker0|ws\w+)\s+inet6?\s+([\da-f.:]+)/gm)]
  return Object.fromEntries(
    found.map(([, device = '', address = '']) => [
      `${device}${address.includes(':') ? '-v6' : ''}`,
      address.startsWith('fe80') ? `${address}%2` : address,
    ]),
  )
}

/** Returns a guest's router from its routing table. Source: proc(5), /proc/net/route. */
async function gatewayOf(backend: Backend, name: string): Promise<string> {
  const table = await runInside({ backend, name }, ['cat', '/proc/net/route'])
  const [, hex] = /^\S+\t00000000\t([0-9A-F]{8})/m.exec(table) ?? []
  if (hex === undefined) throw new Error(`${name} has no default route`)
  return [...Buffer.from(hex, 'hex')].toReversed().join('.')
}

function macOfBridge(addresses: Readonly<Record<string, string>>): string {
  const name = Object.keys(addresses).find((each) => each.startsWith('wsvm')) ?? ''
  return readFileSync(`/sys/class/net/${name}/address`, 'utf8').trim()
}
