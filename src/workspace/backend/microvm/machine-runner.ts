import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../../lib/errors/message.ts'
import { ignore } from '../../../lib/errors/ignore.ts'
import { AGENT_PORT, type GuestRequest, type GuestSetting } from '../../../lib/guest/protocol.ts'
import { fault } from '../../errors.ts'
import { limitsFromWire } from '../../network/narrow.ts'
import type { GuestCaller } from '../backend.ts'
import type { BootImage } from '../../image/image-store.ts'
import { Admission } from '../../../lib/clock/admission.ts'
import { askGuest } from './guest/ask-guest.ts'
import { awaitAgent } from './guest/await-agent.ts'
import { consoleSize, findInitError, findLastKernelMessage } from './monitor/console-log.ts'
import type { Driver, MachineMemory, StartedMachine } from './driver.ts'
import { API_SOCKET, cidOf, dialGuest, SERIAL_SOCKET, VSOCK_SOCKET } from './guest/guest-line.ts'
import type { MachineFiles } from './files/machine-files.ts'
import { hasExitedWithin, isRunning, type MachineProcess, signalProcess } from './monitor/machine-process.ts'
import type { Metadata, MachineRun } from './files/metadata.ts'
import type { Networks } from './networks.ts'
import { SerialBridge } from './guest/serial-bridge.ts'
import type { SocketDirs } from './guest/socket-dir.ts'
import { findMachine } from './stray-machines.ts'
import { attempt, type Report, workspaceSubject } from '../trouble.ts'
import { guestIdentity, machineIdOf } from './guest/guest-identity.ts'
import { GuestPorts } from './guest/guest-ports.ts'
import { listenToPeer } from './guest/host-vsock.ts'

const FREEZE_MS = 10_000
const REQUEST_SHUTDOWN_MS = 20_000
const SHUTDOWN_MS = 40_000
const POWER_MS = 10_000
const TERMINATE_MS = 5_000
const KILL_MS = 5_000
const SHARE_TAG = 'workspace'

/** Reported outcome: a VM continues that was paused. */
export const CONTINUE = 'continue a paused virtual machine'
/** Reported outcome: a VM has the right time, and its programs run. */
export const SET_CLOCK = 'set the clock of a virtual machine'

/** Options of a MachineRunner. */
export interface RunnerOptions {
  readonly driver: Driver
  readonly files: MachineFiles
  readonly sockets: SocketDirs
  readonly networks: Networks
  readonly report: Report
  readonly bootTimeoutMs: number
  readonly hostBoot: string
  /** Whether programs inside must present a token to get cloud credentials. */
  readonly isHardened: boolean
  /** Handlers of guests' connections to the host, by port. */
  readonly guestPorts: ReadonlyMap<number, (caller: GuestCaller) => void>
}

/** How a VM exited. `rebooting`: it must be started again, which its monitor does not do. */
export type MachineExit =
  { readonly is: 'off' | 'rebooting' } | { readonly is: 'failed'; readonly why: string }

/** Starts and stops VMs. Callers serialize the operations on one VM. */
export class MachineRunner {
  readonly #options: RunnerOptions
  /**
   * As many concurrent boots as there are processors: each keeps one busy, and more would slow all of them
   * down.
   */
  readonly #boots = new Admission(Math.max(2, availableParallelism()))
  readonly #bridges = new Map<string, SerialBridge>()
  readonly #guestPorts = new Map<string, { readonly close: () => void }>()

  constructor(options: RunnerOptions) {
    this.#options = options
  }

  /**
   * Boots or resumes a VM and waits until its agent responds. Returns the resulting metadata, which it has also
   * written.
   *
   * @throws BACKEND_ERROR with nothing left running and the reason recorded
   */
  async boot(
    known: Metadata,
    image: BootImage,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Metadata> {
    const onWait = (): void => progress('waiting for other VMs to boot')
    return this.#boots.run(signal, onWait, () => this.#boot(known, image, progress, signal))
  }

  async #boot(
    known: Metadata,
    image: BootImage,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Metadata> {
    const { driver, files } = this.#options
    const missing = await driver.missing()
    if (missing !== undefined) throw fault('BACKEND_UNAVAILABLE', `backend ${driver.name}: ${missing}`)
    await this.killRemains(known)
    const isResumed = known.memory != null
    let metadata = known
    // As on disk: memory that is still recorded can be loaded again.
    let memory = known.memory ?? null
    try {
      progress(isResumed ? 'loading its memory' : 'starting the VM')
      const { started, setting, consoleStart, ipAddress } = await this.#start(known, image, progress, signal)
      const run: MachineRun = {
        hostBoot: this.#options.hostBoot,
        processes: [...started.processes],
        line: started.line,
        // A server that is killed now leaves a VM whose agent needs nothing but the time.
        isReady: isResumed,
        ipAddress,
        agentToken: setting.agentToken,
        consoleStart,
      }
      metadata = { ...known, failure: '', run, memory: null }
      await files.write(metadata)
      memory = null
      // Only now: once the VM has changed its disk, the memory must never be loaded again.
      if (isResumed) await this.unpause(metadata)
      await this.adopt(metadata)
      progress(isResumed ? 'resuming' : 'booting')
      await this.#awaitAgent(metadata, run, { setting, isResumed }, signal)
      metadata = { ...metadata, isFormatted: true, run: { ...run, isReady: true } }
      await files.write(metadata)
      return metadata
    } catch (error) {
      await this.killRemains(metadata)
      const isSuspended = memory !== null
      if (!isSuspended)
        await files.removeMemory(known.name).catch(ignore('it is removed before the next suspend'))
      const failure = isSuspended ? '' : messageOf(error)
      await files
        .write({ ...metadata, memory, run: null, failure })
        .catch(ignore('the error is thrown all the same'))
      throw error
    }
  }

  /** Shuts a VM down, escalating from its agent to its power button to signals. */
  async stop(metadata: Metadata): Promise<void> {
    const { run } = metadata
    const [monitor] = run?.processes ?? []
    if (run !== null && monitor !== undefined && (await this.#isCurrent(run, monitor))) {
      if (!((await this.#requestShutdown(metadata)) && (await hasExitedWithin(monitor, SHUTDOWN_MS)))) {
        await this.#options.driver.pressPower(this.#addressOf(metadata)).catch(ignore('it is killed then'))
        await hasExitedWithin(monitor, POWER_MS)
      }
    }
    await this.killRemains(metadata)
  }

  /**
   * Saves a running VM's memory, writes its metadata and ends its processes.
   *
   * @throws SUSPEND_UNSUPPORTED when it cannot be suspended
   * @throws BACKEND_ERROR when that fails; the VM runs on in both cases
   */
  async suspend(metadata: Metadata): Promise<void> {
    const { driver, files } = this.#options
    const { name, run, localDir } = metadata
    if (run === null) throw fault('BACKEND_ERROR', `workspace "${name}" has no running VM`)
    const why =
      driver.memory === undefined
        ? `${driver.name} workspaces cannot be suspended yet`
        : driver.memory.cannotSave({ line: run.line, isShared: localDir !== '' })
    if (why !== undefined || driver.memory === undefined)
      throw fault('SUSPEND_UNSUPPORTED', `workspace "${name}" cannot be suspended: ${why}`)
    const path = files.memoryOf(name)
    await files.removeMemory(name)
    // Programs continue only with the right time, and in a fork with its identity.
    await this.freeze(metadata).catch(ignore('the agent of an older image cannot'))
    try {
      const at = { ...this.#addressOf(metadata), line: run.line }
      const monitor = await driver.memory.save(at, path, mostMemoryBytes(metadata))
      const bytes = (await files.memoryBytes(name)) ?? 0
      const memory = { monitor, bytes, agentToken: run.agentToken }
      await files.write({ ...metadata, run: null, failure: '', memory })
    } catch (error) {
      await this.proceed(metadata)
      throw fault('BACKEND_ERROR', `workspace "${name}" cannot be suspended: ${messageOf(error)}`, error)
    }
    await this.killRemains(metadata)
  }

  /** Lets a paused VM run, and removes its memory, which then no longer matches its disk. */
  async unpause(metadata: Metadata): Promise<void> {
    await this.#options.driver.memory?.unpause(this.#addressOf(metadata))
    await this.#options.files.removeMemory(metadata.name)
  }

  /** Lets a VM run that may be paused, with the right time. */
  async proceed(metadata: Metadata): Promise<void> {
    const subject = workspaceSubject(metadata.name)
    const { report } = this.#options
    await attempt(report, CONTINUE, () => this.unpause(metadata), subject)
    void attempt(report, SET_CLOCK, () => this.setClock(metadata), subject)
  }

  /** Sets the clock of a VM that was paused, and lets frozen programs continue. */
  async setClock(metadata: Metadata): Promise<void> {
    const { name: hostname, run } = metadata
    if (run === null) return
    const { agentToken } = run
    await this.#ask(metadata, { do: 'prepare', hostname, agentToken, clockMs: Date.now() })
  }

  /** Freezes a VM's programs until its clock is set. */
  async freeze(metadata: Metadata): Promise<void> {
    await this.#ask(metadata, { do: 'freeze' }, FREEZE_MS)
  }

  /** Kills all processes of a VM immediately, and removes its sockets and network. */
  async killRemains(metadata: Metadata): Promise<void> {
    const { driver, files, sockets, networks, hostBoot } = this.#options
    this.#bridges.get(metadata.id)?.close()
    this.#bridges.delete(metadata.id)
    this.#guestPorts.get(metadata.id)?.close()
    this.#guestPorts.delete(metadata.id)
    const recorded = metadata.run?.hostBoot === hostBoot ? metadata.run.processes : []
    const stray = await findMachine({
      disk: files.upperOf(metadata.name),
      sockets: [API_SOCKET, ...driver.helperSockets].map((name) => join(sockets.pathOf(metadata.id), name)),
      id: metadata.id,
    })
    for (const each of [...recorded, ...stray]) await terminate(each)
    await networks.release(metadata.id)
    await sockets.remove(metadata.id)
    await driver.jails?.remove(metadata.id)
  }

  /** Kills the processes of a VM whose metadata is lost, identified by its disk. */
  async killStray(name: string): Promise<void> {
    for (const each of await findMachine({ disk: this.#options.files.upperOf(name) })) await terminate(each)
  }

  /** Attaches to a running VM that this or an earlier server started. */
  async adopt({ id, name, run, network }: Metadata): Promise<void> {
    if (run === null || this.#guestPorts.has(id)) return
    const { socketDir } = this.#addressOf({ id })
    const { guestPorts, networks } = this.#options
    await networks.adopt({ id, name, socketDir, ipAddress: run.ipAddress }, limitsFromWire(network))
    const onConnection = (port: number, connection: Duplex): void =>
      guestPorts.get(port)?.({ workspace: name, token: run.agentToken, connection })
    const ports = [...guestPorts.keys()]
    if (run.line === 'vsock')
      return void this.#guestPorts.set(id, listenToPeer(cidOf(id), ports, onConnection))
    this.#guestPorts.set(id, await GuestPorts.open(socketDir, ports, onConnection))
    if (run.line !== 'serial') return
    const bridge = await SerialBridge.open(join(socketDir, SERIAL_SOCKET), join(socketDir, VSOCK_SOCKET))
    this.#bridges.set(id, bridge)
  }

  /** Determines how a VM exited that was supposed to be running. */
  async determineExit(metadata: Metadata): Promise<MachineExit> {
    const { driver } = this.#options
    const console = this.consoleOf(metadata.name)
    const start = metadata.run?.consoleStart ?? 0
    const failure = await findInitError(console, start)
    if (failure !== undefined) return { is: 'failed', why: `the VM failed to boot: ${failure}` }
    const lastMessage = await findLastKernelMessage(console, start)
    if (!(driver.hasExitedCleanly(this.#addressOf(metadata)) ?? lastMessage !== undefined))
      return { is: 'failed', why: 'its VM exited unexpectedly; start it again' }
    return lastMessage === 'rebooting' ? { is: 'rebooting' } : { is: 'off' }
  }

  /** Closes the bridges; VMs keep running. */
  close(): void {
    for (const each of [...this.#bridges.values(), ...this.#guestPorts.values()]) each.close()
    this.#bridges.clear()
    this.#guestPorts.clear()
  }

  async #start(
    metadata: Metadata,
    image: BootImage,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<{
    readonly started: StartedMachine
    readonly setting: GuestSetting
    readonly consoleStart: number
    readonly ipAddress: string
  }> {
    const { driver, files, sockets, networks } = this.#options
    const { id, name, cpus, memoryMb, localDir } = metadata
    const upper = files.upperOf(name)
    if (!(await files.hasUpper(name)))
      throw fault('BACKEND_ERROR', `${upper} no longer exists: the workspace's files are lost`)
    const socketDir = await sockets.create(id)
    const limits = limitsFromWire(metadata.network)
    const network = await networks.attach(id, limits, await this.#usedAddresses(), progress)
    const memory = await this.#memoryOf(metadata)
    const consoleLog = this.consoleOf(name)
    const consoleStart = await consoleSize(consoleLog)
    const share = localDir === '' ? undefined : { tag: SHARE_TAG, directory: localDir }
    const started = await driver.start(
      {
        id,
        name,
        image,
        upper,
        cpus,
        memoryMb,
        socketDir,
        network,
        share,
        memory,
        consoleLog: files.consoleOf(name),
        monitorLog: files.monitorLogOf(name),
        commandLine: [
          `systemd.machine_id=${machineIdOf(id)}`,
          // Only while the disk must be empty: a damaged disk is never formatted.
          ...(metadata.isFormatted ? [] : ['workspace.format=1']),
        ],
      },
      signal,
    )
    const owner = localDir === '' ? undefined : await stat(localDir)
    const setting: GuestSetting = {
      hostname: name,
      ...guestIdentity(metadata),
      ...(this.#options.isHardened && { credentialsToken: randomBytes(24).toString('base64url') }),
      ...(network.is !== 'none' &&
        network.address !== 'dhcp' && { network: { mac: network.mac, ...network.address } }),
      ...(owner !== undefined && { share: { tag: SHARE_TAG, uid: owner.uid, gid: owner.gid } }),
    }
    // User-mode networks accept no incoming connections.
    const ipAddress = network.is === 'tap' ? network.address.address : ''
    return { started, setting, consoleStart, ipAddress }
  }

  /** Returns the memory to load; undefined to boot. @throws BACKEND_ERROR when the file is not the whole one */
  async #memoryOf({ name, memory }: Metadata): Promise<MachineMemory | undefined> {
    if (memory == null) return undefined
    const { files } = this.#options
    const path = files.memoryOf(name)
    if ((await files.memoryBytes(name)) === memory.bytes) return { path, monitor: memory.monitor }
    throw fault(
      'BACKEND_ERROR',
      `${path} is not the memory that was saved (${memory.bytes} bytes); restore it, or discard the memory with "workspace stop ${name}"`,
    )
  }

  async #awaitAgent(
    metadata: Metadata,
    run: MachineRun,
    { setting, isResumed }: { readonly setting: GuestSetting; readonly isResumed: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const [process] = run.processes
    if (process === undefined) throw new Error('a machine has a monitor')
    await awaitAgent({
      process,
      setting,
      isResumed,
      signal,
      consoleStart: run.consoleStart,
      dialGuest: (port) => dialGuest(run.line, this.#addressOf(metadata), port),
      consoleLog: this.consoleOf(metadata.name),
      monitorLog: this.#options.files.monitorLogOf(metadata.name),
      timeoutMs: this.#options.bootTimeoutMs,
    })
  }

  async #requestShutdown(metadata: Metadata): Promise<boolean> {
    const { shutdownBy: by } = this.#options.driver
    return this.#ask(metadata, { do: 'shut-down', by }, REQUEST_SHUTDOWN_MS).then(
      () => true,
      () => false,
    )
  }

  async #ask(metadata: Metadata, request: GuestRequest, timeoutMs?: number): Promise<void> {
    if (metadata.run === null) return
    const connection = await dialGuest(metadata.run.line, this.#addressOf(metadata), AGENT_PORT)
    await askGuest(connection, request, { timeoutMs })
    connection.destroy()
  }

  async #isCurrent(run: MachineRun, monitor: MachineProcess): Promise<boolean> {
    return run.hostBoot === this.#options.hostBoot && (await isRunning(monitor))
  }

  async #usedAddresses(): Promise<ReadonlySet<string>> {
    const readings = (await this.#options.files.list()).map(({ reading }) => reading)
    return new Set(readings.map((each) => (each.is === 'valid' ? (each.record.run?.ipAddress ?? '') : '')))
  }

  /** Returns the path of the guest's console log. */
  consoleOf(name: string): string {
    const { driver, files } = this.#options
    return files.guestConsoleOf(name, driver.console)
  }

  #addressOf({ id }: Pick<Metadata, 'id'>): { readonly id: string; readonly socketDir: string } {
    return { id, socketDir: this.#options.sockets.pathOf(id) }
  }
}

/** Returns the maximum size of a VM's memory file: its memory, with room for the states of its devices. */
export function mostMemoryBytes({ memoryMb }: Metadata): number {
  return (memoryMb * 1.02 + 256) * 2 ** 20
}

async function terminate(machine: MachineProcess): Promise<void> {
  await signalProcess(machine, 'SIGTERM')
  if (await hasExitedWithin(machine, TERMINATE_MS)) return
  await signalProcess(machine, 'SIGKILL')
  if (await hasExitedWithin(machine, KILL_MS)) return
  throw fault('BACKEND_ERROR', `process ${machine.pid} of the VM does not exit; kill it manually`)
}
