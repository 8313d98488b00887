import { request } from '../../../lib/http/node-http.ts'
import { join } from 'node:path'
import { findProgram } from '../../../lib/process/find-program.ts'
import { fault } from '../../errors.ts'
import { awaitSocket } from '../microvm/monitor/await-socket.ts'
import type { Driver, Machine, StartedMachine } from '../microvm/driver.ts'
import { spawnMonitor } from '../microvm/monitor/spawn-monitor.ts'
import { REST_SOCKET, unusablePath, vfkitArguments } from './command-line.ts'

const TIMEOUT_MS = 5_000

/** Options of the vz driver. */
export interface VzOptions {
  /** Name or path of the program. */
  readonly vfkit: string
}

/** Runs VMs of Apple's Virtualization framework through vfkit, one process per VM. */
export class VzDriver implements Driver {
  readonly name = 'vz'
  readonly console = 'overwritten'
  readonly shutdownBy = 'poweroff'
  readonly helperSockets: readonly string[] = []
  readonly jails = undefined
  readonly memory = undefined
  readonly userOf = () => undefined
  /**
   * macOS's address translation; its guests can reach services that this host exposes on all its addresses.
   */
  readonly userNetwork = {
    address: 'dhcp',
    missing: () => Promise.resolve(undefined),
    isIsolated: false,
  } as const
  readonly #options: VzOptions

  constructor(options: VzOptions) {
    this.#options = options
  }

  async missing(): Promise<string | undefined> {
    const { vfkit } = this.#options
    if ((await findProgram(vfkit)) !== undefined) return undefined
    return `${vfkit} is not installed (macOS: brew install vfkit), or set vz.vfkit`
  }

  cannotShare(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  async start(machine: Machine, signal: AbortSignal): Promise<StartedMachine> {
    const unusable = unusablePath(machine)
    if (unusable !== undefined)
      throw fault(
        'BACKEND_ERROR',
        `vfkit cannot use ${unusable}: paths of a VM must not contain a comma or a quote`,
      )
    const monitor = await spawnMonitor(this.#options.vfkit, vfkitArguments(machine), machine.monitorLog)
    await awaitSocket(join(machine.socketDir, REST_SOCKET), monitor, machine.monitorLog, signal)
    return { processes: [monitor.process], line: 'ports' }
  }

  async pressPower({ socketDir }: { readonly socketDir: string }): Promise<void> {
    await setState(join(socketDir, REST_SOCKET), 'Stop')
  }

  /** Unknown: vfkit exits with its VM and leaves no trace of how. */
  hasExitedCleanly(): undefined {
    return undefined
  }
}

/** Changes a VM's state. Source: vfkit's doc/usage.md, `POST /vm/state`. */
function setState(socketPath: string, state: 'Stop' | 'HardStop'): Promise<void> {
  const json = JSON.stringify({ state })
  return new Promise((resolve, reject) => {
    const call = request(
      {
        socketPath,
        method: 'POST',
        path: '/vm/state',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(json) },
        timeout: TIMEOUT_MS,
      },
      (answer) => {
        answer.resume()
        if ((answer.statusCode ?? 500) < 300) resolve()
        else reject(new Error(`vfkit refused: ${answer.statusCode}`))
      },
    )
    call.once('timeout', () => call.destroy(new Error('vfkit does not respond')))
    call.once('error', reject)
    call.end(json)
  })
}
