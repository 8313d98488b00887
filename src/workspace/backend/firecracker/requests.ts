import type { Machine } from '../microvm/driver.ts'
import { cidOf, VSOCK_SOCKET } from '../microvm/guest/guest-line.ts'

interface FirecrackerRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Replacement body for versions that reject one of its fields. */
  readonly olderBody?: Readonly<Record<string, unknown>>
}

/** Paths of a VM's files as Firecracker sees them; in a jail they differ from the host's. */
export interface MachinePaths {
  readonly kernel: string
  readonly initrd: string
  readonly lower: string
  readonly upper: string
  readonly socketDir: string
}

/**
 * Returns the PUT requests that configure and finally start a VM, in this order. The first drive is the image
 * and the second the workspace's own disk, as the init inside expects.
 */
export function bootRequests(machine: Machine, paths: MachinePaths): readonly FirecrackerRequest[] {
  const { cpus, memoryMb, id, network } = machine
  return [
    {
      path: '/machine-config',
      body: { vcpu_count: vcpusOf(cpus), mem_size_mib: memoryMb, smt: false, track_dirty_pages: false },
    },
    {
      path: '/boot-source',
      body: {
        kernel_image_path: paths.kernel,
        initrd_path: paths.initrd,
        boot_args: [...KERNEL_ARGUMENTS, ...machine.commandLine].join(' '),
      },
    },
    drive('lower', paths.lower, true),
    drive('upper', paths.upper, false),
    ...(network.is === 'tap'
      ? [
          {
            path: '/network-interfaces/eth0',
            body: { iface_id: 'eth0', guest_mac: network.mac, host_dev_name: network.device },
          },
        ]
      : []),
    { path: '/vsock', body: { guest_cid: cidOf(id), uds_path: `${paths.socketDir}/${VSOCK_SOCKET}` } },
    { path: '/entropy', body: {} },
    { path: '/balloon', body: { ...BALLOON, free_page_reporting: true }, olderBody: BALLOON },
    { path: '/actions', body: { action_type: 'InstanceStart' } },
  ]
}

/** Returns memory to the host when the guest frees it, in versions that support free page reporting. */
const BALLOON = { amount_mib: 0, deflate_on_oom: true, stats_polling_interval_s: 0 } as const

/**
 * Firecracker cannot power off: a guest's reboot ends the monitor, and `reboot=k` is the method it detects.
 */
const KERNEL_ARGUMENTS = [
  'console=ttyS0',
  'panic=-1',
  'reboot=k',
  'loglevel=4',
  'net.ifnames=0',
  'pci=off',
] as const

function drive(name: string, path: string, isReadOnly: boolean): FirecrackerRequest {
  return {
    path: `/drives/${name}`,
    body: {
      drive_id: name,
      path_on_host: path,
      is_root_device: false,
      is_read_only: isReadOnly,
      // Data reported to the guest as written must be on disk: the guest flushes, and then the host does.
      cache_type: isReadOnly ? 'Unsafe' : 'Writeback',
      io_engine: 'Sync',
    },
  }
}

/** Firecracker accepts one CPU, or an even number up to 32. */
function vcpusOf(cpus: number): number {
  return cpus <= 1 ? 1 : Math.min(32, cpus + (cpus % 2))
}
