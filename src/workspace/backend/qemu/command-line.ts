import { join } from 'node:path'
import { cidOf, SERIAL_SOCKET } from '../microvm/guest/guest-line.ts'
import type { Machine } from '../microvm/driver.ts'
import { AGENT_SERIAL } from '../../../lib/guest/protocol.ts'

/** QEMU accelerator: hardware virtualization or emulation. */
export type Accelerator = 'kvm' | 'tcg'
/**
 * How to reach the guest: through a helper that speaks hybrid vsock, the host's own vsock, or a serial port.
 */
export type QemuLine = 'hybrid' | 'vsock' | 'serial'

/** Returns the QEMU name of a device, which depends on the VM's bus. */
type Device = (kind: string) => string

/** Name of the QMP socket. */
export const QMP_SOCKET = 'qmp.sock'
/** Name of vhost-device-vsock's socket. */
export const VHOST_SOCKET = 'vhost.sock'
/** Name of virtiofsd's socket. */
export const VIRTIOFS_SOCKET = 'virtiofs.sock'
/** Name of QEMU's PID file. */
export const PID_FILE = 'qemu.pid'
/** Name of the frame filter's socket. */
export const NETWORK_SOCKET = 'net.sock'

/**
 * Returns QEMU's arguments for a VM. With KVM it is a microvm with devices on virtio's own bus. Emulated, it
 * is a full PC, because a microvm has no reference clock to calibrate the kernel's own, which then hangs on a
 * busy host. Paths are used where commas are not special, or have their commas doubled. Source: qemu(1),
 * docs/system/i386/microvm.rst.
 */
export function qemuArguments(machine: Machine, accelerator: Accelerator, line: QemuLine): readonly string[] {
  const { socketDir, image, upper } = machine
  const isShared = line === 'hybrid' || machine.share !== undefined
  const device: Device = (kind) => (accelerator === 'tcg' ? `${kind}-pci` : `${kind}-device`)
  const socket = (id: string, name: string, more = ''): readonly string[] => [
    '-chardev',
    `socket,id=${id},path=${escaped(join(socketDir, name))}${more}`,
  ]
  return [
    '-name',
    escaped(machine.name),
    '-machine',
    machineType(accelerator, isShared),
    // Helpers map the guest's memory.
    ...(isShared ? ['-object', `memory-backend-memfd,id=memory,size=${machine.memoryMb}M`] : []),
    '-cpu',
    accelerator === 'tcg' ? 'max' : 'host',
    '-smp',
    String(machine.cpus),
    '-m',
    String(machine.memoryMb),

    '-nodefaults',
    '-no-user-config',
    '-display',
    'none',
    '-no-reboot',
    '-sandbox',
    'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny',
    '-pidfile',
    join(socketDir, PID_FILE),
    ...socket('qmp', QMP_SOCKET, ',server=on,wait=off'),
    '-mon',
    'chardev=qmp,mode=control',
    '-kernel',
    image.kernel,
    '-initrd',
    image.initrd,
    '-append',
    [...kernelArguments(accelerator), ...machine.commandLine].join(' '),
    '-chardev',
    `file,id=console,path=${escaped(machine.consoleLog)},append=on`,
    '-serial',
    'chardev:console',

    ...drive('lower', image.rootfs, 'readonly=on', device),
    ...drive('upper', upper, 'discard=unmap,detect-zeroes=unmap', device),
    '-device',
    device('virtio-rng'),
    '-device',
    // Returns memory to the host when the guest frees it.
    `${device('virtio-balloon')},free-page-reporting=on`,
    ...lineArguments(machine, line, socket, device),
    ...networkArguments(machine, device),
    ...(machine.memory === undefined ? [] : ['-incoming', 'defer']),
    ...(machine.share === undefined
      ? []
      : [
          ...socket('share', VIRTIOFS_SOCKET),
          '-device',
          `${device('vhost-user-fs')},chardev=share,tag=${machine.share.tag}`,
        ]),
  ]
}

function machineType(accelerator: Accelerator, isShared: boolean): string {
  const kind = accelerator === 'tcg' ? 'q35' : 'microvm,acpi=on'
  return `${kind},accel=${accelerator}${isShared ? ',memory-backend=memory' : ''}`
}

function kernelArguments(accelerator: Accelerator): readonly string[] {
  const all = ['console=ttyS0', 'panic=-1', 'reboot=t', 'loglevel=4', 'net.ifnames=0']
  // An emulated kernel occasionally hangs while relocating itself.
  return accelerator === 'tcg' ? [...all, 'nokaslr'] : all
}

function drive(id: string, path: string, more: string, device: Device): readonly string[] {
  return [
    '-drive',
    `id=${id},file=${escaped(path)},format=raw,if=none,${more}`,
    '-device',
    `${device('virtio-blk')},drive=${id}`,
  ]
}

function lineArguments(
  { id }: Machine,
  line: QemuLine,
  socket: (id: string, name: string, more?: string) => readonly string[],
  device: Device,
): readonly string[] {
  if (line === 'hybrid')
    return [...socket('vsock', VHOST_SOCKET), '-device', `${device('vhost-user-vsock')},chardev=vsock`]
  if (line === 'vsock') return ['-device', `${device('vhost-vsock')},guest-cid=${cidOf(id)}`]
  return [
    '-device',
    device('virtio-serial'),
    ...socket('agent', SERIAL_SOCKET, ',server=on,wait=off'),
    '-device',
    `virtserialport,chardev=agent,name=${AGENT_SERIAL}`,
  ]
}

function networkArguments({ network, socketDir }: Machine, device: Device): readonly string[] {
  if (network.is === 'none') return []
  // Never `-netdev user`, whose gateway is the host's loopback interface.
  const netdev =
    network.is === 'user'
      ? `stream,id=net,server=off,addr.type=unix,addr.path=${escaped(join(socketDir, NETWORK_SOCKET))}`
      : `tap,id=net,ifname=${network.device},script=no,downscript=no`
  return ['-netdev', netdev, '-device', `${device('virtio-net')},netdev=net,mac=${network.mac}`]
}

/** Doubles commas, which otherwise end a value in an option list. */
function escaped(value: string): string {
  return value.replaceAll(',', ',,')
}
