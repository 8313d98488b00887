import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../../lib/errors/message.ts'
import { findProgram } from '../../../lib/process/find-program.ts'
import { fault } from '../../errors.ts'
import { awaitSocket } from '../microvm/await-socket.ts'
import type { Driver, Machine, StartedMachine } from '../microvm/driver.ts'
import { API_SOCKET } from '../microvm/guest-line.ts'
import { signalProcess } from '../microvm/machine-process.ts'
import { spawnMonitor } from '../microvm/spawn-monitor.ts'
import { callFirecracker } from './api.ts'
import { bootRequests } from './requests.ts'

export interface FirecrackerOptions {
  /** Name or path of the program. */
  readonly binary: string
  /** The kernel's device for it. */
  readonly kvm: string
}

/** Firecracker's machines: one process each, told by its socket what the machine consists of. */
export class FirecrackerDriver implements Driver {
  readonly name = 'firecracker'
  /** Its own output is the guest's console. */
  readonly console = 'output'
  readonly endsBy = 'reboot'
  readonly userNetwork = undefined
  readonly #options: FirecrackerOptions

  constructor(options: FirecrackerOptions) {
    this.#options = options
  }

  async missing(): Promise<string | undefined> {
    const { binary, kvm } = this.#options
    if (process.platform !== 'linux') return 'firecracker needs Linux'
    if ((await findProgram(binary)) === undefined)
      return `${binary} is not installed: take a release from https://github.com/firecracker-microvm/firecracker/releases, or set firecracker.binary`
    return access(kvm, constants.R_OK | constants.W_OK).then(
      () => undefined,
      () => `${kvm} cannot be used: firecracker needs KVM, and the user who runs the server access to it`,
    )
  }

  cannotShare(): Promise<string> {
    return Promise.resolve('firecracker shares no directories: use repo, or the qemu backend')
  }

  async start(machine: Machine, signal: AbortSignal): Promise<StartedMachine> {
    const { socketDir, monitorLog, image, upper } = machine
    const api = join(socketDir, API_SOCKET)
    const argv = ['--api-sock', api, '--id', machine.id, '--level', 'Warning']
    const monitor = await spawnMonitor(this.#options.binary, argv, monitorLog)
    try {
      await awaitSocket(api, monitor, monitorLog, signal)
      const paths = { kernel: image.kernel, initrd: image.initrd, lower: image.rootfs, upper, socketDir }
      for (const { path, body } of bootRequests(machine, paths)) {
        signal.throwIfAborted()
        await callFirecracker(api, 'PUT', path, body)
      }
      return { processes: [monitor.process], line: 'hybrid' }
    } catch (error) {
      await signalProcess(monitor.process, 'SIGKILL')
      signal.throwIfAborted()
      throw fault('BACKEND_ERROR', `the machine cannot be started: ${messageOf(error)}`, error)
    }
  }

  /** On x86-64 a guest heeds it as the keys of that name; on others there is none. */
  async pressPower({ socketDir }: { readonly socketDir: string }): Promise<void> {
    await callFirecracker(join(socketDir, API_SOCKET), 'PUT', '/actions', { action_type: 'SendCtrlAltDel' })
  }

  /** It takes its socket away in neither case. */
  hasEndedInOrder(): undefined {
    return undefined
  }
}
