import { constants, existsSync } from 'node:fs'
import { access, chown, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ignore } from '../../../lib/errors/ignore.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { sandboxMissing } from '../../../lib/sandbox/sandbox.ts'
import { canUseVsock } from '../../../native/net/vsock.ts'
import { fault } from '../../errors.ts'
import type { Driver, Machine, MachineMemory, MemorySaver, StartedMachine } from '../microvm/driver.ts'
import { cidOf, VSOCK_SOCKET } from '../microvm/guest/guest-line.ts'
import { awaitSocket } from '../microvm/monitor/await-socket.ts'
import { lastLines } from '../microvm/monitor/console-log.ts'
import { type Monitor, spawnMonitor } from '../microvm/monitor/spawn-monitor.ts'
import { identify, type MachineProcess, signalProcess } from '../microvm/monitor/machine-process.ts'
import { machineUser } from '../microvm/monitor/machine-user.ts'
import {
  type Accelerator,
  PID_FILE,
  qemuArguments,
  NETWORK_SOCKET,
  QMP_SOCKET,
  VHOST_SOCKET,
  VIRTIOFS_SOCKET,
} from './command-line.ts'
import { type ACCELERATORS, findAccelerator } from './accelerator.ts'
import { findHelper } from './tools.ts'
import { enclose } from './enclose.ts'
import { loadMemory, pause, readVersion, saveMemory, unpause } from './memory.ts'
import { qmp } from './qmp.ts'
import { startUserNetwork, USER_NETWORK, userNetworkMissing } from './user-network.ts'

/** Options of the QEMU driver. */
export interface QemuOptions {
  /** Directory of the backend's files. */
  readonly root: string
  /** Name or path of the program. */
  readonly binary: string
  readonly accel: (typeof ACCELERATORS)[number]
  /** Path of vhost-device-vsock; searched for when undefined. */
  readonly vhostDeviceVsock: string | undefined
  /** Path of virtiofsd; searched for when undefined. */
  readonly virtiofsd: string | undefined
}

/** Runs QEMU VMs, with KVM where it works and emulated elsewhere. */
export class QemuDriver implements Driver {
  readonly name = 'qemu'
  readonly console = 'appended'
  readonly userNetwork = { address: USER_NETWORK, missing: userNetworkMissing, isIsolated: true }
  readonly shutdownBy = 'poweroff'
  readonly helperSockets = [NETWORK_SOCKET, VHOST_SOCKET, VIRTIOFS_SOCKET]
  readonly jails = undefined
  readonly userOf = process.getuid?.() === 0 ? machineUser : () => undefined
  readonly memory: MemorySaver = {
    cannotSave,
    save: async ({ id, socketDir, line }, path, mostBytes) => {
      await saveMemory(socketDir, path, mostBytes, this.userOf(id))
      return this.#identify(socketDir, line)
    },
    pause: ({ socketDir }) => pause(socketDir),
    unpause: ({ socketDir }) => unpause(socketDir),
  }
  readonly #options: QemuOptions
  #accelerator: Promise<Accelerator> | undefined

  constructor(options: QemuOptions) {
    this.#options = options
  }

  async missing(): Promise<string | undefined> {
    if (process.platform !== 'linux' || process.arch !== 'x64') return 'qemu requires Linux on x86-64'
    const { binary } = this.#options
    if ((await findProgram(binary)) !== undefined) return sandboxMissing()
    return `${binary} is not installed (Debian and Ubuntu: apt-get install qemu-system-x86 passt bubblewrap), or set qemu.binary`
  }

  async cannotShare(): Promise<string | undefined> {
    if ((await findHelper(this.#options.virtiofsd, 'virtiofsd')) === undefined)
      return 'virtiofsd is not installed (Debian 12 has it in qemu-system-common), or set qemu.virtiofsd'
    return process.getuid?.() === 0 ? undefined : 'sharing a directory requires root'
  }

  async start(machine: Machine, signal: AbortSignal): Promise<StartedMachine> {
    const vsock = await this.#findVsock()
    const line = vsock.is
    const started: Monitor[] = []
    try {
      const user = this.userOf(machine.id)
      if (user !== undefined) await chown(machine.socketDir, user, user)
      if (machine.network.is === 'user')
        started.push(await startUserNetwork(machine, machine.network, user, signal))
      if (vsock.is === 'hybrid') started.push(await this.#startVsock(vsock.helper, machine, user, signal))
      if (machine.share !== undefined)
        started.push(await this.#startShare(machine, machine.share.directory, user, signal))
      this.#accelerator ??= findAccelerator(this.#options)
      const { root } = this.#options
      const binary = (await findProgram(this.#options.binary)) ?? this.#options.binary
      const argv = qemuArguments(machine, await this.#accelerator, line)
      const enclosed = await enclose(machine, { binary, argv, root, user })
      const sandbox = await spawnMonitor(enclosed.program, enclosed.argv, machine.monitorLog)
      started.push(sandbox)
      await awaitSocket(join(machine.socketDir, QMP_SOCKET), sandbox, machine.monitorLog, signal)
      const monitor = await findInside(sandbox.process, machine.monitorLog)
      if (machine.memory !== undefined) await this.#load(machine, machine.memory, line)
      return { processes: [monitor, ...started.map((each) => each.process)], line }
    } catch (error) {
      for (const { process } of started) await signalProcess(process, 'SIGKILL')
      throw error
    }
  }

  async pressPower({ socketDir }: { readonly socketDir: string }): Promise<void> {
    await qmp(join(socketDir, QMP_SOCKET), [{ execute: 'system_powerdown' }])
  }

  /** QEMU removes its PID file on a regular exit, and cannot when it is killed. */
  hasExitedCleanly({ socketDir }: { readonly socketDir: string }): boolean {
    return !existsSync(join(socketDir, PID_FILE))
  }

  /** Loads a VM's memory. @throws BACKEND_ERROR when another monitor wrote it, or QEMU does not accept it */
  async #load({ socketDir, monitorLog }: Machine, memory: MachineMemory, line: string): Promise<void> {
    const failed = async (error: unknown): Promise<never> => {
      throw fault(
        'BACKEND_ERROR',
        `the VM cannot be resumed: ${messageOf(error)}: ${await lastLines(monitorLog, 3)}; "workspace stop" discards its memory`,
        error,
      )
    }
    const monitor = await this.#identify(socketDir, line).catch(failed)
    if (monitor !== memory.monitor)
      throw fault(
        'BACKEND_ERROR',
        `the VM was suspended by ${memory.monitor} and cannot be resumed by ${monitor}; restore that one, or discard the memory with "workspace stop"`,
      )
    await loadMemory(socketDir, memory.path).catch(failed)
  }

  /** Returns a monitor's identity: memory depends on its version and on the VM's devices. */
  async #identify(socketDir: string, line: string): Promise<string> {
    this.#accelerator ??= findAccelerator(this.#options)
    return `QEMU ${await readVersion(socketDir)} (${await this.#accelerator}, ${line})`
  }

  async #findVsock(): Promise<
    { readonly is: 'vsock' | 'serial' } | { readonly is: 'hybrid'; readonly helper: string }
  > {
    if (canUseVsock() && (await isUsable('/dev/vhost-vsock'))) return { is: 'vsock' }
    const helper = await findHelper(this.#options.vhostDeviceVsock, 'vhost-device-vsock')
    return helper === undefined ? { is: 'serial' } : { is: 'hybrid', helper }
  }

  async #startVsock(
    helper: string,
    machine: Machine,
    user: number | undefined,
    signal: AbortSignal,
  ): Promise<Monitor> {
    const { id, socketDir, monitorLog } = machine
    const socket = join(socketDir, VHOST_SOCKET)
    const argv = [
      '--guest-cid',
      String(cidOf(id)),
      '--socket',
      socket,
      '--uds-path',
      join(socketDir, VSOCK_SOCKET),
    ]
    const monitor = await spawnMonitor(helper, argv, monitorLog)
    await awaitSocket(socket, monitor, machine.monitorLog, signal)
    if (user !== undefined) await chown(socket, user, user)
    return monitor
  }

  async #startShare(
    machine: Machine,
    directory: string,
    user: number | undefined,
    signal: AbortSignal,
  ): Promise<Monitor> {
    await stat(directory)
    const socket = join(machine.socketDir, VIRTIOFS_SOCKET)
    const helper = await findHelper(this.#options.virtiofsd, 'virtiofsd')
    if (helper === undefined)
      throw fault('BACKEND_ERROR', 'virtiofsd, which shares local_dir, is no longer installed')
    const argv = [`--socket-path=${socket}`, '-o', `source=${directory}`, '-o', 'cache=auto']
    const monitor = await spawnMonitor(helper, argv, machine.monitorLog)
    await awaitSocket(socket, monitor, machine.monitorLog, signal)
    if (user !== undefined) await chown(socket, user, user)
    return monitor
  }
}

const cannotSave: MemorySaver['cannotSave'] = ({ line, isShared }) => {
  if (isShared) return 'it has a local_dir, and virtiofsd, which shares that, cannot be suspended'
  return line === 'hybrid'
    ? 'its vsock is provided by vhost-device-vsock, which cannot be suspended; give the server /dev/vhost-vsock, or use a serial port (set qemu.vhost_device_vsock to /nonexistent and start the workspace again)'
    : undefined
}

/**
 * Returns QEMU's process, the only child of its sandbox. Asks the kernel, because the VM's user could forge a
 * file. Source: proc(5), /proc/PID/task/TID/children.
 *
 * @throws BACKEND_ERROR when it has exited
 */
async function findInside({ pid }: MachineProcess, monitorLog: string): Promise<MachineProcess> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(
    ignore('it has exited, which is reported below', ''),
  )
  const inside = /^\d+ $/.test(children) ? await identify(Number(children)) : undefined
  if (inside !== undefined) return inside
  throw fault(
    'BACKEND_ERROR',
    `the VM cannot be started: its monitor exited immediately: ${await lastLines(monitorLog, 3)}`,
  )
}

async function isUsable(device: string): Promise<boolean> {
  return access(device, constants.R_OK | constants.W_OK).then(
    () => true,
    () => false,
  )
}
