import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Backend, ExecRequest } from '../../../../src/workspace/backend/backend.ts'
import { MountedSocketDirs } from '../../../../src/workspace/backend/docker/exec/mounted-socket-dirs.ts'
import type { Workspace } from '../../../../src/workspace/workspace.ts'
import type { BackendName } from '../../../../src/workspace/backend-name.ts'
import { backendCreate } from './backend-create.ts'
import { dockerBackend, TEST_IMAGE } from '../../engine/docker.ts'
import { FakeBackend } from './fake-backend.ts'
import type { QemuOptions } from '../../../../src/workspace/backend/qemu/qemu-driver.ts'
import { machineRoots, qemuBackend } from '../../vm/vm-server.ts'
import { clusterBackend } from '../../cluster/cluster.ts'

/** The backends that must pass the common suite, and their inherent differences. */
const EVERYDAY_BACKENDS: readonly TestedBackend[] = [
  { kind: 'docker', make: directBackend, isDocker: true, isReal: true, isDirect: true, name: 'docker' },
  {
    kind: 'docker without a mount',
    make: () => dockerBackend(),
    isDocker: true,
    isReal: true,
    isDirect: false,
    isVariant: true,
    name: 'docker',
  },
  {
    kind: 'fake',
    make: () => new FakeBackend(),
    isDocker: false,
    isReal: false,
    isDirect: true,
    name: 'docker',
  },
]

interface TestedBackend {
  readonly kind: string
  readonly name: BackendName
  readonly make: () => Backend | Promise<Backend>
  readonly isDocker: boolean
  /** Whether programs run elsewhere than on this machine, as separate users. */
  readonly isReal: boolean
  readonly isDirect: boolean
  /** Whether it differs from another one only in how programs are started. */
  readonly isVariant?: boolean
  /** Whether workspaces take seconds to start, so that `.ci/run` leaves out what another of its tests covers too. */
  readonly isSlow?: boolean
  /** Whether the host's directories, copies of workspaces and their usage are out of reach, because nodes are other machines. */
  readonly isRemote?: boolean
}

/** VMs take seconds to boot: these run in `npm run test:vm`, which sets a variable. */
const MACHINE_BACKENDS: readonly TestedBackend[] = [
  {
    kind: 'qemu',
    name: 'qemu',
    isSlow: true,
    make: () => machineBackend({}),
    isDocker: false,
    isReal: true,
    isDirect: true,
  },
  {
    kind: 'qemu over a serial port',
    name: 'qemu',
    isSlow: true,
    make: () => machineBackend({ vhostDeviceVsock: '/nonexistent' }),
    isVariant: true,
    isDocker: false,
    isReal: true,
    isDirect: true,
  },
]

/** Pods of a cluster, in `npm run test:cluster`. */
const CLUSTER_BACKENDS: readonly TestedBackend[] = [
  {
    kind: 'kubernetes',
    name: 'kubernetes',
    make: () => clusterBackend(),
    isDocker: false,
    isReal: true,
    isDirect: true,
    isRemote: true,
  },
]

const SELECTED: Readonly<Record<string, readonly TestedBackend[]>> = {
  machines: MACHINE_BACKENDS,
  cluster: CLUSTER_BACKENDS,
}

/** Backends that the common suite runs on. */
export const BACKENDS = SELECTED[process.env['TEST_BACKENDS'] ?? ''] ?? EVERYDAY_BACKENDS

async function machineBackend(qemu: Partial<QemuOptions>): Promise<Backend> {
  const roots = machineRoots()
  const backend = await qemuBackend(roots, {}, qemu)
  const close = backend.close.bind(backend)
  backend.close = async () => {
    await close()
    roots.remove()
  }
  return backend
}

/** A backend whose workspaces have a server directory mounted, which is removed with the backend. */
async function directBackend(): Promise<Backend> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'inside-')))
  const backend = dockerBackend({ mountedSocketDirs: await MountedSocketDirs.own(root) })
  const close = backend.close.bind(backend)
  backend.close = async () => {
    await close()
    rmSync(root, { recursive: true })
  }
  return backend
}

/** Creates a workspace with a repository, ports and an environment. */
export function createIn(backend: Backend, name: string, localDir = ''): Promise<Workspace> {
  return backend.create(
    backendCreate(name, TEST_IMAGE, {
      createdAt: new Date(),
      repo: 'https://example.com/r',
      localDir,
      forwardPorts: [3000, 8080],
      environment: { FROM_CREATION: 'a = b' },
      labels: { team: 'web', 'a/b': 'quo"te = ünïcödé' },
      cpus: 1,
      memoryMb: 256,
    }),
    () => undefined,
    new AbortController().signal,
  )
}

/** Runs a program until it exits. */
export async function outputOf(backend: Backend, name: string, request: ExecRequest) {
  const process = await backend.exec(name, request)
  const [stdout, stderr, { status }] = await Promise.all([
    text(process.stdout),
    text(process.stderr),
    process.exitStatus,
  ])
  return { stdout, stderr, status }
}

/** Returns the request to run a shell script without input. */
export function sh(script: string, user?: string): ExecRequest {
  return { argv: ['/bin/sh', '-c', script], stdin: false, ...(user !== undefined && { user }) }
}
