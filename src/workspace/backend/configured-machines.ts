import { join } from 'node:path'
import type { WorkspaceConfig } from '../config.ts'
import { type ImageBackend, imageDirOf } from '../image/image-backend.ts'
import type { Driver } from './microvm/driver.ts'
import { MicroVmBackend } from './microvm/microvm-backend.ts'
import { QemuDriver } from './qemu/qemu-driver.ts'

/** Where a kind of virtual machine has its files, and its sockets. */
interface MachinePlace {
  readonly backend: ImageBackend
  readonly root: string
  readonly runDir: string
}

/** Of every kind of virtual machine that is enabled. */
export function machinePlaces(config: WorkspaceConfig): readonly MachinePlace[] {
  return kinds(config)
    .filter(({ backend }) => config.enabledBackends.includes(backend))
    .map(({ backend, root }) => ({ backend, root, runDir: config.vm.runDir }))
}

/** The backends that run virtual machines, as far as they are enabled. */
export function microVmBackends(config: WorkspaceConfig): readonly MicroVmBackend[] {
  const { vm, upperSizeDefaultBytes } = config
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
          defaults: { cpus: vm.cpus, memoryMb: vm.memoryMb, upperBytes: upperSizeDefaultBytes },
          bootTimeoutMs: vm.bootTimeoutMs,
        }),
    )
}

function kinds({ qemu }: WorkspaceConfig): readonly {
  readonly backend: ImageBackend
  readonly root: string
  readonly imageRoot: string
  readonly driver: () => Driver
}[] {
  return [
    {
      backend: 'qemu',
      root: qemu.root,
      imageRoot: join(qemu.root, imageDirOf('qemu')),
      driver: () => new QemuDriver(qemu),
    },
  ]
}
