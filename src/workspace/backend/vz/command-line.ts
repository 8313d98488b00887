import { join } from 'node:path'
import { AGENT_PORT, BUS_PORT } from '../../../lib/guest/protocol.ts'
import type { Machine } from '../microvm/driver.ts'
import { hostPortSocket, portSocket } from '../microvm/guest/guest-line.ts'

/** Name of vfkit's REST socket. */
export const REST_SOCKET = 'rest.sock'

/**
 * Returns vfkit's arguments for a VM. Source: its doc/usage.md. Each vsock port has one socket: the host
 * connects to the agent's, the guest to the bus's. vfkit overwrites its console log.
 */
export function vfkitArguments(machine: Machine): readonly string[] {
  const { image, upper, socketDir, network, share } = machine
  const words = ['console=hvc0', 'panic=-1', 'loglevel=4', 'net.ifnames=0', ...machine.commandLine].join(' ')
  return [
    '--cpus',
    String(machine.cpus),
    '--memory',
    String(machine.memoryMb),
    '--bootloader',
    `linux,kernel=${image.kernel},initrd=${image.initrd},cmdline="${words}"`,
    ...device(`virtio-blk,path=${image.rootfs},readonly`),
    ...device(`virtio-blk,path=${upper}`),
    ...device('virtio-rng'),
    ...device('virtio-balloon'),
    ...device(`virtio-serial,logFilePath=${machine.consoleLog}`),
    ...device(`virtio-vsock,port=${AGENT_PORT},socketURL=${join(socketDir, portSocket(AGENT_PORT))},connect`),
    ...device(`virtio-vsock,port=${BUS_PORT},socketURL=${join(socketDir, hostPortSocket(BUS_PORT))}`),
    ...(network.is === 'none' ? [] : device(`virtio-net,nat,mac=${network.mac}`)),
    ...(share === undefined ? [] : device(`virtio-fs,sharedDir=${share.directory},mountTag=${share.tag}`)),
    '--restful-uri',
    `unix://${join(socketDir, REST_SOCKET)}`,
  ]
}

function device(value: string): readonly string[] {
  return ['--device', value]
}

/** Returns a path that vfkit cannot accept: its options are comma-separated lists without escaping. */
export function unusablePath(machine: Machine): string | undefined {
  const { image, upper, consoleLog, share, socketDir } = machine
  const paths = [
    image.rootfs,
    image.kernel,
    image.initrd,
    upper,
    consoleLog,
    socketDir,
    share?.directory ?? '',
  ]
  return paths.find((path) => /[,"]/.test(path))
}
