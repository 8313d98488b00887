import { join } from 'node:path'
import type { WorkspaceConfig } from '../config.ts'
import { type ImageBackend, imageDirOf } from '../image/image-backend.ts'
import { FirecrackerDriver } from '../backend/firecracker/firecracker-driver.ts'
import type { Driver } from '../backend/microvm/driver.ts'
import { MicroVmBackend } from '../backend/microvm/microvm-backend.ts'
import { QemuDriver } from '../backend/qemu/qemu-driver.ts'
import { VzDriver } from '../backend/vz/vz-driver.ts'

/** Directories in which a VM backend stores its files and sockets. */
interface MachineDirectories {
  readonly backend: ImageBackend
  readonly root: string
  readonly runDir: string
}

/** Returns the directories of every enabled VM backend. */
export function machineDirectories(config: WorkspaceConfig): readonly MachineDirectories[] {
  return kinds(config)
    .filter(({ backend }) => config.enabledBackends.includes(backend))
    .map(({ backend, root }) => ({ backend, root, runDir: config.vm.runDir }))
}

/** Creates the enabled VM backends. */
export function microVmBackends(config: WorkspaceConfig): readonly MicroVmBackend[] {
  const { vm, network, upperSizeDefaultBytes } = config
  return kinds(config)
    .filter(({ backend }) => config.enabledBackends.includes(backend))
    .map(
      ({ root, imageRoot, driver }) =>
        new MicroVmBackend({
          root,
          imageRoot,
          driver: driver(),
          socketRoot: vm.runDir,
          network: vm.network,
          policy: network,
          isHardened: config.hardened,
          defaults: { cpus: vm.cpus, memoryMb: vm.memoryMb, upperBytes: upperSizeDefaultBytes },
          bootTimeoutMs: vm.bootTimeoutMs,
        }),
    )
}

/** Creates the driver of each VM backend, enabled or not. */
export function machineDrivers(config: WorkspaceConfig): readonly Driver[] {
  return kinds(config).map(({ driver }) => driver())
}

function kinds({ qemu, firecracker, vz }: WorkspaceConfig): readonly {
  readonly backend: ImageBackend
  readonly root: string
  readonly imageRoot: string
  readonly driver: () => Driver
}[] {
  const drivers = {
    firecracker: () => new FirecrackerDriver({ ...firecracker, kvm: '/dev/kvm' }),
    vz: () => new VzDriver(vz),
    qemu: () => new QemuDriver(qemu),
  }
  const roots = { firecracker: firecracker.root, vz: vz.root, qemu: qemu.root }
  return (['firecracker', 'vz', 'qemu'] as const).map((backend) => ({
    backend,
    root: roots[backend],
    imageRoot: join(roots[backend], imageDirOf(backend)),
    driver: drivers[backend],
  }))
}
