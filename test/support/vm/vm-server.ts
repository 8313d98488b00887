import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  MicroVmBackend,
  type MicroVmOptions,
} from '../../../src/workspace/backend/microvm/microvm-backend.ts'
import { QemuDriver, type QemuOptions } from '../../../src/workspace/backend/qemu/qemu-driver.ts'
import { shareVmImages, VM_IMAGE } from './vm-image.ts'
import { startWorkspaceServer, type TestServer } from '../workspace/server/test-server.ts'

/** Emulated, because KVM behaves differently on the machines that tests run on. */
const QEMU = { accel: 'tcg' } as const
const MACHINE = { cpus: 1, memoryMb: 512 }

/** A test's directories for VMs; that of the sockets is short regardless of TMPDIR. */
export function machineRoots(): {
  readonly root: string
  readonly runDir: string
  readonly remove: () => void
} {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'machines-')))
  const runDir = mkdtempSync('/tmp/vm-')
  return {
    root,
    runDir,
    remove() {
      for (const path of [root, runDir]) rmSync(path, { recursive: true, force: true })
    },
  }
}

/** A backend of QEMU VMs with the base image. */
export async function qemuBackend(
  roots: { readonly root: string; readonly runDir: string },
  options: Partial<MicroVmOptions> = {},
  qemu: Partial<QemuOptions> = {},
): Promise<MicroVmBackend> {
  await shareVmImages(roots.root)
  return new MicroVmBackend({
    driver: new QemuDriver({
      binary: 'qemu-system-x86_64',
      accel: 'tcg',
      root: roots.root,
      vhostDeviceVsock: undefined,
      virtiofsd: undefined,
      ...qemu,
    }),
    root: roots.root,
    imageRoot: join(roots.root, 'images'),
    socketRoot: roots.runDir,
    network: 'user',
    policy: { allowHostPorts: [], egress: 'open' },
    defaults: { ...MACHINE, upperBytes: 5 * 2 ** 30 },
    bootTimeoutMs: 120_000,
    ...options,
  })
}

/** A complete server whose workspaces are VMs. */
export async function vmServer(
  roots: { readonly root: string; readonly runDir: string },
  settings: Readonly<Record<string, unknown>> = {},
): Promise<TestServer> {
  return startWorkspaceServer({
    settings: { ...(await vmSettings(roots)), ssh: { processes: 1 }, ...settings },
  })
}

/** The configuration of such a server; the images are in its root. */
export async function vmSettings(roots: { readonly root: string; readonly runDir: string }) {
  await shareVmImages(roots.root)
  return {
    enabled_backends: ['qemu'],
    default_backend: 'qemu',
    default_image: VM_IMAGE,
    vm: { run_dir: roots.runDir, cpus: MACHINE.cpus, memory_mb: MACHINE.memoryMb, network: 'user' },
    qemu: { root: roots.root, ...QEMU },
  }
}
