import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { findHelper } from '../../../src/workspace/backend/qemu/tools.ts'

/** Settings that a stand-in monitor received. */
export interface StandInMachine {
  readonly cpus: string
  readonly memoryMb: string
  readonly kernel: string
  readonly initrd: string
  readonly words: string
  readonly lower: string
  readonly upper: string
  readonly cid: string
  /** Path of the guest's hybrid vsock. */
  readonly vsock: string
  /** QEMU's arguments for the console. */
  readonly serial: readonly string[]
}

const children: ChildProcess[] = []

/** Boots through QEMU what another monitor was configured with; this process exits with it. */
export async function bootByQemu(machine: StandInMachine): Promise<void> {
  const vhost = `${machine.vsock}.vhost`
  const helper = (await findHelper(undefined, 'vhost-device-vsock')) ?? 'vhost-device-vsock'
  run(helper, ['--guest-cid', machine.cid, '--socket', vhost, '--uds-path', machine.vsock])
  while (!existsSync(vhost)) await delay(10)
  const memory = `${machine.memoryMb}M`
  const drive = (id: string, path: string, more: string) => [
    '-drive',
    `id=${id},file=${path},format=raw,if=none${more}`,
    '-device',
    `virtio-blk-pci,drive=${id}`,
  ]
  const argv = [
    ...'-nodefaults -no-user-config -display none -no-reboot -cpu max -machine q35,accel=tcg,memory-backend=memory'.split(
      ' ',
    ),
    '-object',
    `memory-backend-memfd,id=memory,size=${memory}`,
    '-m',
    memory,
    '-smp',
    machine.cpus,
    ...machine.serial,
    '-kernel',
    machine.kernel,
    '-initrd',
    machine.initrd,
    '-append',
    `${machine.words} nokaslr`,
    ...drive('lower', machine.lower, ',readonly=on'),
    ...drive('upper', machine.upper, ''),
    '-chardev',
    `socket,id=vsock,path=${vhost}`,
    '-device',
    'vhost-user-vsock-pci,chardev=vsock',
  ]
  run('qemu-system-x86_64', argv).once('exit', (status) => end(status ?? 1))
}

/** Stops the VM and exits this process. */
export function end(status: number): void {
  for (const child of children) child.kill('SIGKILL')
  process.exit(status)
}

/** Returns whether this stand-in has started the guest's programs. */
export function hasBooted(): boolean {
  return children.length > 0
}

function run(program: string, argv: readonly string[]): ChildProcess {
  const child = spawn(program, argv, { stdio: ['ignore', 'inherit', 'inherit'] })
  children.push(child)
  return child
}
