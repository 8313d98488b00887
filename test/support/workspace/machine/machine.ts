import type { Machine } from '../../../../src/workspace/backend/microvm/driver.ts'

/** A VM to start, which is never started. */
export function machine(more: Partial<Machine> = {}): Machine {
  const directory = '/images/blobs/sha256/abc'
  return {
    id: '0a1b2c3d',
    name: 'demo',
    image: {
      digest: `sha256:${'0'.repeat(64)}`,
      arch: 'x64',
      directory,
      rootfs: `${directory}/rootfs.ext4`,
      kernel: `${directory}/kernel`,
      initrd: `${directory}/initrd`,
    },
    upper: '/root/uppers/demo/upper.ext4',
    cpus: 2,
    memoryMb: 1024,
    socketDir: '/run/vm/0a1b2c3d',
    consoleLog: '/root/instances/demo/console.log',
    monitorLog: '/root/instances/demo/monitor.log',
    commandLine: ['workspace.format=1'],
    network: { is: 'none' },
    share: undefined,
    memory: undefined,
    ...more,
  }
}

/** Network of a machine with a tap device. */
export const TAP = {
  is: 'tap',
  mac: '06:00:00:00:00:01',
  device: 'wstap0',
  address: { address: '172.30.0.2', prefixLength: 16, gateway: '172.30.0.1', nameServers: ['1.1.1.1'] },
} as const
