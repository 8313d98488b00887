import type { Duplex } from 'node:stream'
import { systemClock } from '../../../lib/clock/clock.ts'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import { ImageStore } from '../../image/image-store.ts'
import { nameKey } from '../../name.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import type { Workspace } from '../../workspace.ts'
import type {
  Backend,
  BackendChange,
  BackendCreate,
  BackendUsage,
  ExecProcess,
  ExecRequest,
  GuestCaller,
  InsideListener,
  LoginEnvironment,
} from '../backend.ts'
import { renewIdentity } from '../renew-identity.ts'
import { followConsole, readConsole } from './monitor/console-log.ts'
import type { Driver } from './driver.ts'
import { GuestClient } from './guest/guest-client.ts'
import { finishInterrupted } from './finish-interrupted.ts'
import { readHostBoot } from './files/host-boot.ts'
import { MachineFiles } from './files/machine-files.ts'
import { readMachineLoads } from './monitor/machine-load.ts'
import { CONTINUE, type MachineExit, MachineRunner, SET_CLOCK } from './machine-runner.ts'
import { MachineCheckpoints } from './machine-checkpoints.ts'
import { MachineForks, type MachineForksOptions } from './machine-forks.ts'
import { MachineSnapshots } from './machine-snapshots.ts'
import { MachineWatch } from './machine-watch.ts'
import { hasMonitor, workspaceOf } from './machine-state.ts'
import type { Metadata } from './files/metadata.ts'
import { type MachineDefaults, planMachine } from './plan-machine.ts'
import { lockRoot } from './files/lock-root.ts'
import { readMachineUsage } from './usage.ts'
import { attempt, type Report, workspaceSubject } from '../trouble.ts'
import type { NetworkMode } from './network/network.ts'
import { Networks } from './networks.ts'
import { readPinnedDigests } from './files/pinned-digests.ts'
import { reachMachine } from './guest/reach-machine.ts'
import { RebootLimit, TOO_MANY_REBOOTS } from './reboot-limit.ts'
import { SocketDirs } from './guest/socket-dir.ts'

/** Options of a VM backend. */
export interface MicroVmOptions {
  readonly driver: Driver
  /** Directory of this backend's instances and uppers. */
  readonly root: string
  /** Directory of its images. */
  readonly imageRoot: string
  /** Root directory of the VMs' sockets. */
  readonly socketRoot: string
  readonly network: NetworkMode
  /** Whether programs in VMs must present a token to get cloud credentials. */
  readonly isHardened?: boolean
  /** Network policy of the VMs. */
  readonly policy: NetworkPolicy
  /** Defaults for creations that leave them out. */
  readonly defaults: MachineDefaults
  readonly bootTimeoutMs: number
}

/** Runs workspaces as VMs: an image shared by many, and a separate disk per workspace above it. */
export class MicroVmBackend implements Backend {
  readonly name: Backend['name']
  readonly snapshots: MachineSnapshots
  readonly forks: MachineForks
  readonly checkpoints: MachineCheckpoints
  readonly #images: Promise<ImageStore>
  readonly #options: MicroVmOptions
  readonly #files: MachineFiles
  readonly #sockets: SocketDirs
  readonly #guests: GuestClient
  readonly #locks = new KeyedLock()
  readonly #guestPorts = new Map<number, (caller: GuestCaller) => void>()
  readonly #watch: MachineWatch
  readonly #networks: Networks
  readonly #reboots = new RebootLimit(systemClock)
  readonly #report: Report = (outcome) => this.#onChange({ is: 'trouble', ...outcome })
  #onChange: (change: BackendChange) => void = () => undefined
  #runner: MachineRunner | undefined
  #hostBoot = ''
  #isAvailable = false
  #release: (() => Promise<void>) | undefined

  constructor(options: MicroVmOptions) {
    this.name = options.driver.name
    this.#options = options
    this.#files = new MachineFiles(options.root)
    this.#sockets = new SocketDirs(options.socketRoot)
    const { root, network, driver, policy } = options
    this.#networks = new Networks(root, network, driver, policy, this.#report)
    this.#images = ImageStore.open({
      root: options.imageRoot,
      pinnedDigests: () => readPinnedDigests(options.root),
    })
    this.#images.catch(ignore('opening the backend awaits it'))
    this.snapshots = new MachineSnapshots(this.name, this.#files, this.#images)
    this.#watch = new MachineWatch(this.#files, options.driver, {
      onExit: async (name) => {
        let exit: MachineExit | undefined
        const record = (): Promise<void> =>
          this.#locks.run(nameKey(name), async () => void (exit = await this.#recordExit(name)))
        await attempt(this.#report, 'record the exit of a virtual machine', record, workspaceSubject(name))
        this.#onChange({ is: exit?.is === 'rebooting' ? 'rebooting' : 'changed', name })
      },
      onReadable: (name) => this.#onChange({ is: 'changed', name }),
      report: this.#report,
    })
    this.#guests = new GuestClient(reachMachine(this.#files, this.#sockets))
    const copying: MachineForksOptions = {
      machines: this.#files,
      driver: options.driver,
      socketDirOf: (id) => this.#sockets.pathOf(id),
      exec: (name, request) => this.exec(name, request),
      exclusively: (name, work) => this.#exclusively(name, work),
      isRunning: (metadata) => hasMonitor(metadata, this.#hostBoot),
      runner: () => this.#running,
    }
    this.forks = new MachineForks(copying)
    this.checkpoints = new MachineCheckpoints({ ...copying, forks: this.forks, runner: () => this.#running })
  }

  get isAvailable(): boolean {
    return this.#isAvailable
  }

  async open(onChange: (change: BackendChange) => void): Promise<void> {
    const { driver, root, bootTimeoutMs } = this.#options
    this.#onChange = onChange
    this.#release = await lockRoot(root, this.name)
    await this.#images
    this.#hostBoot = await readHostBoot()
    this.#runner = new MachineRunner({
      driver,
      bootTimeoutMs,
      files: this.#files,
      sockets: this.#sockets,
      hostBoot: this.#hostBoot,
      isHardened: this.#options.isHardened ?? false,
      guestPorts: this.#guestPorts,
      networks: this.#networks,
      report: this.#report,
    })
    this.#isAvailable = (await driver.missing()) === undefined
    const wasForking = (await this.forks.hasLeftovers()) || (await this.checkpoints.hasLeftovers())
    for (const { reading } of await this.#files.list()) {
      if (reading.is !== 'valid') continue
      await finishInterrupted(reading.record, this.#files, this.#runner, this.#hostBoot, this.#report)
      if (reading.record.run?.hostBoot !== this.#hostBoot) continue
      this.#watch.add(reading.record)
      await this.#adopt(reading.record, wasForking)
    }
    if (wasForking) {
      await attempt(this.#report, 'remove interrupted forks', () => this.forks.clear())
      await attempt(this.#report, 'remove interrupted checkpoints', () => this.checkpoints.clear())
    }
    this.#watch.start()
  }

  /** Attaches to a VM that an earlier server started. One that has exited since is left to the watch. */
  async #adopt(metadata: Metadata, wasForking: boolean): Promise<void> {
    const subject = workspaceSubject(metadata.name)
    const ifRunning = async (work: () => Promise<void>): Promise<void> => {
      await work().catch(async (error: unknown) => {
        if (await hasMonitor(metadata, this.#hostBoot)) throw error
      })
    }
    const adopt = () => ifRunning(() => this.#running.adopt(metadata))
    await attempt(this.#report, 'attach to a running virtual machine', adopt, subject)
    const unpause = () => ifRunning(() => this.forks.unpause(metadata))
    if (wasForking) await attempt(this.#report, CONTINUE, unpause, subject)
    // It may have been paused, or its programs frozen.
    const setClock = () => ifRunning(() => this.#running.setClock(metadata))
    if (this.#options.driver.memory !== undefined) void attempt(this.#report, SET_CLOCK, setClock, subject)
  }

  /** Closes the backend. VMs keep running, and the next server finds them again. */
  async close(): Promise<void> {
    this.#watch.stop()
    this.#runner?.close()
    this.#networks.close()
    await this.#release?.()
  }

  async list(): Promise<readonly Workspace[]> {
    const found = (await this.#files.list()).map(({ key, reading }) =>
      workspaceOf(this.name, this.#files, key, reading, this.#hostBoot),
    )
    return (await Promise.all(found)).filter((workspace) => workspace !== undefined)
  }

  async find(name: string): Promise<Workspace | undefined> {
    const reading = await this.#files.read(name)
    return workspaceOf(this.name, this.#files, nameKey(name), reading, this.#hostBoot)
  }

  async hasVolume(name: string): Promise<boolean> {
    const reading = await this.#files.read(name)
    if (reading.is === 'unreadable')
      throw fault(
        'BACKEND_ERROR',
        `metadata.json of "${name}" is unreadable (${reading.why}); delete the workspace first`,
      )
    return reading.is === 'valid' && reading.record.isKept
  }

  async create(
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Workspace> {
    this.#sockets.check()
    const images = await this.#images
    if (request.localDir !== '') {
      const why = await this.#options.driver.cannotShare()
      if (why !== undefined)
        throw fault('INVALID_LOCAL_DIR', `local_dir cannot be mounted in a ${this.name} VM: ${why}`)
    }
    return this.#locks.run(nameKey(request.name), async () => {
      const { name, fromSnapshot, enterPhase, fork } = request
      enterPhase?.('image')
      const reading = await this.#files.read(name)
      const kept = reading.is === 'valid' ? reading.record : undefined
      const copies = fork === undefined ? this.snapshots : this.forks
      const copy = fork?.origin ?? fromSnapshot
      const snapshot = copy === '' ? undefined : await copies.read(copy)
      const { defaults } = this.#options
      const { metadata, disk } = await planMachine(request, { kept, snapshot }, images, defaults)
      await this.#files.begin(name)
      // The written metadata pins the image against pruning. Only then does resolving it prove that it
      // exists.
      await this.#files.write(metadata)
      const image = await images.resolve(metadata.digest)
      enterPhase?.('volume')
      if (disk === 'new') await this.#files.makeUpper(name, metadata.upperBytes)
      if (disk === 'copied') await copies.restore(copy, name, signal)
      enterPhase?.('boot')
      await this.#boot(metadata, image, progress, signal)
      const asRoot = (argv: readonly string[]) => this.exec(name, { argv, user: 'root', stdin: false })
      if (fork !== undefined) await renewIdentity(name, true, asRoot, signal)
      await this.#files.end(request.name)
      return this.#get(request.name)
    })
  }

  async start(name: string): Promise<Workspace> {
    return this.#change(name, async (metadata) => {
      const image = await (await this.#images).resolve(metadata.digest).catch(async (error: unknown) => {
        await this.#files
          .write({ ...metadata, failure: messageOf(error) })
          .catch(ignore('the error is thrown all the same'))
        throw error
      })
      await this.#boot(metadata, image, () => undefined, new AbortController().signal)
    })
  }

  async stop(name: string): Promise<Workspace> {
    return this.#change(name, async (metadata) => {
      this.#watch.remove(name)
      await this.#running.stop(metadata)
      await this.#files.write({ ...metadata, run: null, failure: '', memory: null })
      await this.#files.removeMemory(name)
    })
  }

  async suspend(name: string): Promise<Workspace> {
    return this.#change(name, async (metadata) => {
      // A VM that is paused or exits now has not failed.
      this.#watch.remove(name)
      try {
        await this.#running.suspend(metadata)
      } catch (error) {
        this.#watch.add(metadata)
        throw error
      }
    })
  }

  /** Discards everything written in a stopped workspace; it starts from its image again. */
  async reset(name: string): Promise<Workspace> {
    return this.#change(name, async (metadata) => {
      await this.#running.killRemains(metadata)
      // In this order, a crash between the two leaves a workspace that starts with its files; the reverse
      // would not start.
      await this.#files.write({ ...metadata, isFormatted: false, run: null, failure: '' })
      await this.#files.makeUpper(name, metadata.upperBytes)
    })
  }

  async rename(name: string, to: string): Promise<Workspace> {
    return this.#locks.run(nameKey(name), async () => {
      const metadata = await this.#files.get(name)
      this.#watch.remove(name)
      await this.#running.killRemains(metadata)
      await this.#files.rename({ ...metadata, run: null }, to)
      return this.#get(to)
    })
  }

  async remove(name: string, keepVolume: boolean): Promise<void> {
    await this.#locks.run(nameKey(name), async () => {
      this.#watch.remove(name)
      const reading = await this.#files.read(name)
      const metadata = reading.is === 'valid' ? await this.#files.finishRename(reading.record) : undefined
      if (metadata !== undefined) {
        await this.checkpoints.removeAll(metadata)
        if (keepVolume && metadata.isFormatted) {
          await this.#running.stop(metadata)
          await this.#files.removeLogs(name)
          await this.#files.write({ ...metadata, isKept: true, run: null, failure: '', memory: null })
          await this.#files.removeMemory(name)
          return this.#files.end(name)
        }
        await this.#running.killRemains(metadata)
      } else await this.#running.killStray(name)
      if (keepVolume && metadata === undefined && reading.is === 'unreadable')
        throw fault(
          'BACKEND_ERROR',
          `the files of "${name}" cannot be kept: its metadata.json is unreadable (${reading.why})`,
        )
      await this.#files.removeUpper(name)
      await this.#files.removeInstance(name)
    })
  }

  exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    return this.#guests.exec(name, request)
  }

  dial(name: string, port: number): Promise<Duplex> {
    return this.#guests.dial(name, port)
  }

  readonly canListenInside = (): boolean => true

  listenInside(name: string, onConnection: (connection: Duplex) => void): Promise<InsideListener> {
    return this.#guests.listenInside(name, onConnection)
  }

  readonly listenPort: Backend['listenPort'] = (...of) => this.#guests.listenPort(...of)

  loginEnvironment(name: string): Promise<LoginEnvironment> {
    return this.#guests.loginEnvironment(name)
  }

  listenGuests(port: number, onConnection: (caller: GuestCaller) => void): void {
    this.#guestPorts.set(port, onConnection)
  }

  readonly loads = readMachineLoads

  logs(name: string, lines: number): Promise<readonly string[]> {
    return readConsole(this.#running.consoleOf(name), lines)
  }

  followLogs(name: string, lines: number, signal: AbortSignal): AsyncIterable<string> {
    return followConsole(this.#running.consoleOf(name), lines, signal)
  }

  async usage(): Promise<BackendUsage> {
    return readMachineUsage(this.#files, await this.#images)
  }

  readonly changedAt: Backend['changedAt'] = (name) => this.#files.changedAt(name)

  get #running(): MachineRunner {
    if (this.#runner === undefined) throw new Error('the backend is not open')
    return this.#runner
  }

  async #boot(
    metadata: Metadata,
    image: Parameters<MachineRunner['boot']>[1],
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    this.#watch.remove(metadata.name)
    const booted = await this.#running.boot(metadata, image, progress, signal)
    this.#watch.add(booted)
  }

  #change(name: string, work: (metadata: Metadata) => Promise<void>): Promise<Workspace> {
    return this.#exclusively(name, async (metadata) => {
      await work(metadata)
      return this.#get(name)
    })
  }

  #exclusively<T>(name: string, work: (metadata: Metadata) => Promise<T>): Promise<T> {
    return this.#locks.run(nameKey(name), async () =>
      work(await this.#files.finishRename(await this.#files.get(name))),
    )
  }

  async #get(name: string): Promise<Workspace> {
    const workspace = await this.find(name)
    if (workspace === undefined)
      throw fault('BACKEND_ERROR', `the files of workspace "${name}" no longer exist`)
    return workspace
  }

  /** Records how a VM exited; resolves to undefined when it has been started again in the meantime. */
  async #recordExit(name: string): Promise<MachineExit | undefined> {
    const reading = await this.#files.read(name)
    if (reading.is !== 'valid' || reading.record.run === null || this.#watch.has(name)) return undefined
    const how = await this.#running.determineExit(reading.record)
    const exit = how.is === 'rebooting' && !this.#reboots.admits(nameKey(name)) ? TOO_MANY_REBOOTS : how
    await this.#running.killRemains(reading.record)
    await this.#files.write({ ...reading.record, run: null, failure: exit.is === 'failed' ? exit.why : '' })
    return exit
  }
}
