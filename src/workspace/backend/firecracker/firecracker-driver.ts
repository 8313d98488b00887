import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { fault } from '../../errors.ts'
import { machineUser } from '../microvm/monitor/machine-user.ts'
import { awaitSocket } from '../microvm/monitor/await-socket.ts'
import type { Driver, Machine, StartedMachine } from '../microvm/driver.ts'
import { API_SOCKET } from '../microvm/guest/guest-line.ts'
import { signalProcess } from '../microvm/monitor/machine-process.ts'
import { spawnMonitor } from '../microvm/monitor/spawn-monitor.ts'
import { callFirecracker } from './api.ts'
import { FirecrackerJails, type MonitorCommand } from './firecracker-jails.ts'
import { bootRequests } from './requests.ts'

/** Options of the Firecracker driver. */
export interface FirecrackerOptions {
  /** Name or path of the program. */
  readonly binary: string
  /** Name or path of the jailer; undefined when VMs run as the server's own user. */
  readonly jailer?: string | undefined
  /** Directory of the VMs' files. */
  readonly root: string
  /** Path of the KVM device. */
  readonly kvm: string
}

/** Returns the arguments of a monitor whose sockets are in a directory. */
const argvAt = (directory: string) => ['--api-sock', join(directory, API_SOCKET), '--level', 'Warning']

/** Runs Firecracker VMs: one process each, configured over its socket. */
export class FirecrackerDriver implements Driver {
  readonly name = 'firecracker'
  /** The guest's console is the monitor's own output. */
  readonly console = 'output'
  readonly shutdownBy = 'reboot'
  readonly helperSockets: readonly string[] = []
  readonly memory = undefined
  readonly userNetwork = undefined
  readonly jails: FirecrackerJails | undefined
  readonly userOf: Driver['userOf']
  readonly #options: FirecrackerOptions

  constructor(options: FirecrackerOptions) {
    this.#options = options
    const { binary, jailer, root } = options
    this.jails = jailer === undefined ? undefined : new FirecrackerJails({ root, binary, jailer })
    this.userOf = jailer === undefined ? () => undefined : machineUser
  }

  async missing(): Promise<string | undefined> {
    const { binary, kvm } = this.#options
    if (process.platform !== 'linux') return 'firecracker needs Linux'
    if ((await findProgram(binary)) === undefined)
      return `${binary} is not installed: download a release from https://github.com/firecracker-microvm/firecracker/releases, or set firecracker.binary`
    const unjailable = await this.#cannotJail()
    if (unjailable !== undefined) return unjailable
    return access(kvm, constants.R_OK | constants.W_OK).then(
      () => undefined,
      () =>
        `${kvm} is not accessible: firecracker requires KVM, and the server's user needs read and write access`,
    )
  }

  cannotShare(): Promise<string> {
    return Promise.resolve('firecracker cannot share directories; use repo, or the qemu backend')
  }

  async start(machine: Machine, signal: AbortSignal): Promise<StartedMachine> {
    const { socketDir, monitorLog } = machine
    const api = join(socketDir, API_SOCKET)
    const { program, argv, paths } = await this.#command(machine)
    const monitor = await spawnMonitor(program, argv, monitorLog)
    try {
      await awaitSocket(api, monitor, monitorLog, signal)
      for (const { path, body, olderBody } of bootRequests(machine, paths)) {
        signal.throwIfAborted()
        await callFirecracker(api, 'PUT', path, body).catch((error: unknown) => {
          if (olderBody === undefined) throw error
          return callFirecracker(api, 'PUT', path, olderBody)
        })
      }
      return { processes: [monitor.process], line: 'hybrid' }
    } catch (error) {
      await signalProcess(monitor.process, 'SIGKILL')
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the VM cannot be started: ${messageOf(error)}`, error)
    }
  }

  /** Sends Ctrl+Alt+Del, which x86-64 guests treat as a power button. Other architectures have none. */
  async pressPower({ socketDir }: { readonly socketDir: string }): Promise<void> {
    await callFirecracker(join(socketDir, API_SOCKET), 'PUT', '/actions', { action_type: 'SendCtrlAltDel' })
  }

  async #command(machine: Machine): Promise<MonitorCommand> {
    const { id, socketDir, image, upper } = machine
    if (this.jails !== undefined) return this.jails.enclose(machine, argvAt)
    return {
      program: this.#options.binary,
      argv: ['--id', id, ...argvAt(socketDir)],
      paths: { kernel: image.kernel, initrd: image.initrd, lower: image.rootfs, upper, socketDir },
    }
  }

  /** Returns why the configured jailer cannot be used, or undefined. */
  async #cannotJail(): Promise<string | undefined> {
    const { binary, jailer } = this.#options
    if (jailer === undefined) return undefined
    if ((await findProgram(jailer)) === undefined)
      return `${jailer} is not installed: install it from a Firecracker release, or change firecracker.jailer`
    if (process.getuid?.() !== 0)
      return 'the jailer requires root: run the server as root, or remove firecracker.jailer'
    // A rule of the jailer itself.
    if (!basename(binary).includes('firecracker'))
      return `${binary} does not have "firecracker" in its name, which the jailer requires; set firecracker.binary`
    return undefined
  }

  /** Unknown: Firecracker leaves its socket behind in both cases. */
  hasExitedCleanly(): undefined {
    return undefined
  }
}
