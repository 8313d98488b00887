import type { Machine } from '../microvm/driver.ts'
import { cidOf, VSOCK_SOCKET } from '../microvm/guest/guest-line.ts'

interface FirecrackerRequest {
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** In place of the body, for versions that do not know one of its fields. */
  readonly olderBody?: Readonly<Record<string, unknown>>
}

/** Where Firecracker finds what a machine consists of: paths as it sees them, which in a jail are others. */
export interface MachinePaths {
  readonly kernel: string
  readonly initrd: string
  readonly lower: string
  readonly upper: string
  readonly socketDir: string
}

/**
 * Everything said to a Firecracker before its machine runs, in this order, and last that it may run; all of it by PUT. The
 * first drive is the image's and the second the workspace's own, as the init inside expects them.
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

/** Returns memory to the host when the guest frees it, from the version on that reports free pages. */
const BALLOON = { amount_mib: 0, deflate_on_oom: true, stats_polling_interval_s: 0 } as const

/** A guest's reboot ends the monitor, which has no power to switch off: `reboot=k` is the way it notices. */
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
      // What the guest has been told is written must be: it flushes, and the host then does.
      cache_type: isReadOnly ? 'Unsafe' : 'Writeback',
      io_engine: 'Sync',
    },
  }
}

/** One, or an even number of at most 32. */
function vcpusOf(cpus: number): number {
  return cpus <= 1 ? 1 : Math.min(32, cpus + (cpus % 2))
}
