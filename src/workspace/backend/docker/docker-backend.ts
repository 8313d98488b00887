import type { ContainerInspectInfo } from 'dockerode'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { unlessAborted } from '../../../lib/process/unless-aborted.ts'
import { ignore } from '../../../lib/errors/ignore.ts'
import { fault } from '../../errors.ts'
import type { Workspace } from '../../workspace.ts'
import type {
  Backend,
  BackendChange,
  BackendCreate,
  BackendUsage,
  ExecProcess,
  ExecRequest,
  InsideListener,
  Load,
  LoginEnvironment,
} from '../backend.ts'
import { narrowed, type NetworkLimits } from '../../network/narrow.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import { type ContainerLimits } from './container.ts'
import { ContainerLoads } from './exec/container-load.ts'
import { followContainerLog, readContainerLog } from './container-log.ts'
import {
  CHANGE_DEADLINE_MS,
  DockerEngine,
  engineStatus,
  type EngineTiming,
  REMOVAL_DEADLINE_MS,
} from './engine/engine.ts'
import { followEvents } from './engine/events.ts'
import { ContainerCheckpoints } from './container-checkpoints.ts'
import { ContainerForks } from './container-forks.ts'
import { ProgramStarter } from './exec/exec.ts'
import { MOUNT_POINT, type MountedSocketDirs } from './exec/mounted-socket-dirs.ts'
import {
  changedAtOf,
  engineName,
  isOwn,
  labelsOf,
  type Labels,
  networkLimitsOf,
  isRewound,
  ownFilter,
  workspaceFromInspect,
  workspaceFromRow,
} from './engine/labels.ts'
import { IsolatedNetworks } from './network/isolated-networks.ts'
import { NetworkRecords } from './network/network-records.ts'
import { ContainerPorts } from './exec/container-ports.ts'
import { listenForUser } from './exec/listen-for-user.ts'
import { readLoginEnvironment } from '../login-environment.ts'
import { renewIdentity } from '../renew-identity.ts'
import { prepareOwner } from './engine/owner.ts'
import { ContainerBuilds } from './images/container-builds.ts'
import type { PulledImages } from './images/pulled-images.ts'
import { startContainer, ownedByAnotherServer } from './start-container.ts'
import { readUsage } from './usage.ts'
import { APPLY_RULES, attempt, attemptUntilDone, type Report } from '../trouble.ts'

const STOP_GRACE_S = 10
const STOP_DEADLINE_MS = (STOP_GRACE_S + 20) * 1_000
const RECONNECT_MS = 500
/** A server has ten seconds to stop; the next one finds and removes leftover networks. */
const CLOSE_NETWORK_MS = 3_000

/** Network policy of the isolated networks, and the file that records them. Absent in processes that create and start no workspaces. */
type Isolation =
  | { readonly policy: NetworkPolicy; readonly networksFile: string }
  | { readonly policy?: undefined; readonly networksFile?: undefined }

/** Options of the Docker backend. */
export type DockerBackendOptions = Isolation & {
  /** Engine address, `unix:///…` or `tcp://host:port`; the first existing well-known socket when absent. */
  readonly host: string | undefined
  /** The network that workspaces join instead of the isolated one. */
  readonly network: string | undefined
  /** Image of helper containers, for engines whose machine this process cannot change directly. */
  readonly helperImage?: string | undefined
  /** Limits of every container. */
  readonly limits?: ContainerLimits | undefined
  /** Marks this server's containers and volumes, so that two servers can share an engine. */
  readonly serverId: string
  /** Socket directories shared with workspaces; when absent, all program I/O passes through the engine. */
  readonly mountedSocketDirs?: MountedSocketDirs | undefined
  /** Records which images this server pulled. */
  readonly pulled?: PulledImages | undefined
  /** Timeouts of engine calls. */
  readonly timing?: EngineTiming | undefined
}

/** Runs workspaces as containers of a Docker-compatible engine, with their files on a named volume. */
export class DockerBackend implements Backend {
  readonly name = 'docker'
  readonly forks: ContainerForks
  readonly checkpoints: ContainerCheckpoints
  readonly builds: ContainerBuilds
  readonly #engine: DockerEngine
  readonly #options: DockerBackendOptions
  readonly #stopped = new AbortController()
  readonly #programs: ProgramStarter
  readonly #loads = new ContainerLoads()
  readonly #ports = new ContainerPorts(
    async (name) => {
      const report = await this.#inspect(engineName(name))
      return { id: report?.Id ?? '', pid: report?.State.Pid ?? 0 }
    },
    (name, argv) => this.exec(name, { argv }),
  )
  readonly #logins = new Map<string, LoginEnvironment>()
  /** Undefined when workspaces join another network, or this process starts none. */
  readonly #networks: IsolatedNetworks | undefined
  readonly #report: Report = (outcome) => this.#onChange({ is: 'trouble', ...outcome })
  #onChange: (change: BackendChange) => void = () => undefined
  #events: Promise<void> | undefined

  constructor(options: DockerBackendOptions) {
    this.#options = options
    this.#engine = new DockerEngine(options.host, options.timing)
    const { network, policy, networksFile, helperImage = '', serverId, limits, pulled } = options
    this.forks = new ContainerForks(this.#engine, serverId, limits)
    this.checkpoints = new ContainerCheckpoints(this.#engine, serverId, this.forks)
    this.builds = new ContainerBuilds(this.#engine, serverId, this.forks, pulled)
    if (network === undefined && policy !== undefined && networksFile !== undefined)
      this.#networks = new IsolatedNetworks(this.#engine, {
        serverId,
        policy,
        helperImage,
        withHelper: (work) => this.forks.withHelper(work),
        report: this.#report,
        records: new NetworkRecords(networksFile),
      })
    this.#programs = new ProgramStarter(this.#engine, options.mountedSocketDirs)
  }

  get isAvailable(): boolean {
    return this.#engine.isAvailable
  }

  get whyUnavailable(): string | undefined {
    return this.#engine.whyUnavailable
  }

  async open(onChange: (change: BackendChange) => void): Promise<void> {
    this.#onChange = onChange
    const networks = this.#networks
    if (networks !== undefined)
      await attempt(this.#report, 'read the recorded networks', () => networks.restore())
    await this.#engine.open((isAvailable) => onChange({ is: isAvailable ? 'resync' : 'away' }))
    await this.#removeStraySockets()
    if (networks !== undefined)
      await attemptUntilDone(
        this.#report,
        APPLY_RULES,
        async () => networks.reopen(await this.#limitsInUse()),
        this.#stopped.signal,
      )
    await this.#finishCheckpoints(() => this.checkpoints.finishAll(true))
    this.#events = this.#follow()
  }

  /** Removes the sockets of workspaces that were removed behind the server's back; otherwise the next start does. */
  async #removeStraySockets(): Promise<void> {
    const { mountedSocketDirs } = this.#options
    if (mountedSocketDirs === undefined || !this.isAvailable) return
    await attempt(this.#report, 'remove the sockets of deleted workspaces', () =>
      mountedSocketDirs.prune(async () => (await this.list()).map(({ name }) => name)),
    )
  }

  /** Finishes what a killed server left. The SSH workers change nothing: a copy may be in use. */
  async #finishCheckpoints(finish: () => Promise<void>): Promise<void> {
    if (this.#options.policy !== undefined && this.isAvailable)
      await attempt(this.#report, 'finish interrupted checkpoints', finish)
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    await Promise.race([this.#closeNetworks(), delay(CLOSE_NETWORK_MS, undefined, { ref: false })])
    await Promise.all([this.#engine.close(), this.#events, this.#programs.close()])
  }

  /** Removes networks and their rules that no workspace needs any more. */
  async #closeNetworks(): Promise<void> {
    await this.#networks?.close(await this.#limitsInUse().catch(ignore('networks whose use is unknown stay')))
  }

  /** Returns the limits of every workspace; undefined for a workspace without limits. */
  async #limitsInUse(): Promise<readonly (NetworkLimits | undefined)[]> {
    return (await this.list()).map(({ networkLimits }) => networkLimits)
  }

  async list(): Promise<readonly Workspace[]> {
    const filters = { label: ownFilter(this.#options.serverId) }
    const rows = await this.#engine.call('listing containers', (abortSignal) =>
      this.#engine.docker.listContainers({ all: true, filters, abortSignal }),
    )
    return Promise.all(
      rows
        .filter((row) => !isRewound(row))
        .map(async (row) => {
          // The list does not report whether a killed container ran out of memory.
          const killed = row.State === 'exited' && row.Status.startsWith('Exited (137)')
          const report = killed ? await this.#inspect(row.Id) : undefined
          return report === undefined ? workspaceFromRow(row) : workspaceFromInspect(report)
        }),
    )
  }

  async find(name: string): Promise<Workspace | undefined> {
    const report = await this.#inspect(engineName(name))
    return report !== undefined && isOwn(report.Config.Labels, this.#options.serverId)
      ? workspaceFromInspect(report)
      : undefined
  }

  async hasVolume(name: string): Promise<boolean> {
    const labels = await this.#volumeLabels(name)
    if (labels === undefined) return false
    if (isOwn(labels, this.#options.serverId)) return true
    throw ownedByAnotherServer(name)
  }

  async create(
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const labels = labelsOf(this.#options.serverId, request)
    if (request.localDir === '') {
      request.enterPhase?.('volume')
      await this.#engine.make('creating the volume', signal, (abortSignal) =>
        this.#engine.docker.createVolume({
          Name: engineName(request.name),
          Labels: { ...labels },
          abortSignal,
        }),
      )
    }
    const { fork } = request
    if (fork !== undefined) await this.forks.fill(request.name, fork.origin, signal)
    const { mountedSocketDirs, pulled, limits } = this.#options
    const policy = this.#options.policy && narrowed(this.#options.policy, request.networkLimits)
    const opening = this.#networks?.of(request.networkLimits).open()
    const network = opening === undefined ? this.#options.network : await unlessAborted(opening, signal)
    const place = { network, isIsolated: this.#networks !== undefined, policy, limits, mountedSocketDirs }
    const parts = { request, labels, ...place, pulled, progress, signal }
    const container = await startContainer(this.#engine, parts)
    const report = await this.#engine.make('starting the container', signal, (abortSignal) =>
      container.inspect({ abortSignal }),
    )
    const asRoot = (argv: readonly string[]) => this.exec(request.name, { argv, user: '0', stdin: false })
    if (fork === undefined) await prepareOwner(report, request, asRoot)
    else await renewIdentity(request.name, false, asRoot, signal)
    return workspaceFromInspect(report)
  }

  async start(name: string): Promise<Workspace> {
    await this.checkpoints.finish(name)
    return this.#change(
      name,
      'starting the container',
      CHANGE_DEADLINE_MS,
      async (container, abortSignal) => {
        const { Id, Mounts, NetworkSettings, Config } = await container.inspect({ abortSignal })
        const network = this.#networks?.of(networkLimitsOf(Config.Labels))
        await network?.adopt(Id, Object.keys(NetworkSettings.Networks))
        const mount = Mounts.find(({ Destination }) => Destination === MOUNT_POINT)
        if (mount !== undefined) await this.#options.mountedSocketDirs?.restore(name, mount.Source)
        await container.start({ abortSignal })
      },
    )
  }

  /** @throws SUSPEND_UNSUPPORTED always: engines save memory only as an experiment, and without connections */
  suspend(name: string): Promise<Workspace> {
    const why = 'its engine cannot save the memory of containers; use "workspace stop"'
    return Promise.reject(fault('SUSPEND_UNSUPPORTED', `workspace "${name}" cannot be suspended: ${why}`))
  }

  async stop(name: string): Promise<Workspace> {
    return this.#change(name, 'stopping the container', STOP_DEADLINE_MS, async (container, abortSignal) => {
      const { State } = await container.inspect({ abortSignal })
      if (State.Paused) await container.unpause({ abortSignal })
      await container.stop({ t: STOP_GRACE_S, abortSignal })
    })
  }

  async remove(name: string, keepVolume: boolean): Promise<void> {
    await this.checkpoints.removeAll(name, keepVolume)
    const report = await this.#inspect(engineName(name))
    if (report !== undefined && isOwn(report.Config.Labels, this.#options.serverId)) {
      const container = this.#engine.docker.getContainer(report.Id)
      await this.#removal('removing the container', (abortSignal) =>
        container.remove({ force: true, v: true, abortSignal }),
      )
      const limits = networkLimitsOf(report.Config.Labels)
      if (limits !== undefined) await this.#networks?.releaseUnused(limits, await this.#limitsInUse())
      await this.forks.removeImage(report.Config.Image)
    }
    await this.#options.mountedSocketDirs?.remove(name)
    if (keepVolume || !isOwn(await this.#volumeLabels(name), this.#options.serverId)) return
    const volume = this.#engine.docker.getVolume(engineName(name))
    await this.#removal('removing the volume', (abortSignal) => volume.remove({ abortSignal }))
  }

  exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    return this.#programs.exec(name, request)
  }

  dial(name: string, port: number): Promise<Duplex> {
    return this.#ports.dial(name, port)
  }

  readonly listenPort: Backend['listenPort'] = (name, port, onConnection) =>
    this.#ports.listen(name, port, onConnection)

  canListenInside(name: string): boolean {
    return this.#programs.isDirect(name)
  }

  async listenInside(name: string, onConnection: (connection: Duplex) => void): Promise<InsideListener> {
    const { mountedSocketDirs } = this.#options
    if (mountedSocketDirs === undefined || !this.canListenInside(name))
      throw fault('BACKEND_ERROR', `workspace "${name}" cannot reach a socket of this server`)
    const { userId } = await this.loginEnvironment(name)
    return listenForUser(mountedSocketDirs, name, userId, onConnection)
  }

  async loginEnvironment(name: string): Promise<LoginEnvironment> {
    const cached = this.#logins.get(name)
    if (cached !== undefined) return cached
    const login = await readLoginEnvironment(name, (argv, user) =>
      this.exec(name, { argv, stdin: false, ...(user !== undefined && { user }) }),
    )
    this.#logins.set(name, login)
    return login
  }

  usage(): Promise<BackendUsage> {
    return readUsage(this.#engine, this.#options.serverId)
  }

  loads(running: readonly Workspace[]): Promise<ReadonlyMap<string, Load>> {
    return this.#loads.readAll(running.map(({ containerId }) => containerId))
  }

  logs(name: string, lines: number): Promise<readonly string[]> {
    return readContainerLog(this.#engine, engineName(name), lines)
  }

  followLogs(name: string, lines: number, signal: AbortSignal): AsyncIterable<string> {
    return followContainerLog(this.#engine, engineName(name), lines, signal)
  }

  async changedAt(name: string): Promise<Date> {
    return changedAtOf(name, await this.#inspect(engineName(name)))
  }

  async #change(
    name: string,
    what: string,
    deadlineMs: number,
    change: (
      container: ReturnType<DockerEngine['docker']['getContainer']>,
      signal: AbortSignal,
    ) => Promise<unknown>,
  ): Promise<Workspace> {
    const container = this.#engine.docker.getContainer(engineName(name))
    // 304: already in the requested state, for example because another client changed it a moment ago.
    await this.#ignoring(304, what, (abortSignal) => change(container, abortSignal), deadlineMs)
    const workspace = await this.find(name)
    if (workspace === undefined)
      throw fault('BACKEND_ERROR', `${what} failed: the container no longer exists`)
    return workspace
  }

  async #inspect(container: string): Promise<ContainerInspectInfo | undefined> {
    return this.#ignoring(404, 'inspecting the container', (abortSignal) =>
      this.#engine.docker.getContainer(container).inspect({ abortSignal }),
    )
  }

  async #volumeLabels(name: string): Promise<Labels | undefined> {
    const volume = await this.#ignoring(404, 'inspecting the volume', (abortSignal) =>
      this.#engine.docker.getVolume(engineName(name)).inspect({ abortSignal }),
    )
    return volume === undefined ? undefined : (volume.Labels ?? {})
  }

  async #ignoring<T>(
    status: number,
    what: string,
    work: (signal: AbortSignal) => Promise<T>,
    deadlineMs?: number,
  ): Promise<T | undefined> {
    try {
      return await this.#engine.call(what, work, deadlineMs === undefined ? {} : { deadlineMs })
    } catch (error) {
      if (engineStatus(error) === status) return undefined
      throw error
    }
  }

  #removal(what: string, work: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    return this.#ignoring(404, what, work, REMOVAL_DEADLINE_MS)
  }

  /** Keeps an event stream open. Events may have been missed before each time it opens, hence `resync`. */
  async #follow(): Promise<void> {
    const { signal } = this.#stopped
    const what = 'follow the events of the engine'
    while (!signal.aborted) {
      if (this.isAvailable) {
        await followEvents(this.#engine, this.#options.serverId, signal, {
          onOpen: () => {
            this.#report({ what, error: undefined })
            this.#ports.refresh()
            void this.#finishCheckpoints(() => this.checkpoints.recover())
            this.#onChange({ is: 'resync' })
          },
          onEvent: (name, action) => {
            if (action === 'oom') return this.#onChange({ is: 'outOfMemory', name })
            this.#logins.delete(name)
            this.#programs.forget(name)
            this.#ports.refresh(name)
            this.#onChange({ is: 'changed', name })
          },
        }).catch((error: unknown) => signal.aborted || this.#report({ what, error }))
      }
      await delay(RECONNECT_MS, undefined, { signal }).catch(ignore('the backend is closed'))
    }
  }
}
