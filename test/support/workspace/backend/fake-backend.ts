import { type ChildProcess, spawn } from 'node:child_process'
import { constants, tmpdir, userInfo } from 'node:os'
import { statSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type Duplex, duplexPair } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type {
  Backend,
  BackendChange,
  BackendCreate,
  BackendUsage,
  ExecProcess,
  ExecRequest,
  ExitStatus,
  GuestCaller,
  InsideListener,
  Load,
  LoginEnvironment,
} from '../../../../src/workspace/backend/backend.ts'
import { lastLogLines } from '../../../../src/workspace/backend/log-lines.ts'
import { fault } from '../../../../src/workspace/errors.ts'
import { WORKSPACE_DIR, type Workspace } from '../../../../src/workspace/workspace.ts'
import { copyTree } from './copy-tree.ts'
import { FakeCheckpoints } from './fake-checkpoints.ts'
import { listenAt } from './listen-at.ts'

/**
 * A backend whose workspaces are directories of this machine and whose programs run on it. It passes the
 * suite of the real backends, except for terminals, and can be made to fail or wait where a real engine
 * would.
 */
export class FakeBackend implements Backend {
  readonly name = 'docker'
  isAvailable = true
  /** Whether the memory of its workspaces can be saved. */
  canSuspend = false
  /** Runs before each step of that name; throw from it to fail the step, or wait in it. */
  readonly before = new Map<string, (signal?: AbortSignal) => Promise<void> | void>()
  readonly #workspaces = new Map<string, Workspace>()
  readonly #environments = new Map<string, Readonly<Record<string, string>>>()
  readonly #volumes = new Map<string, string>()
  readonly #homes = new Map<string, string>()
  readonly #processes = new Set<ChildProcess>()
  #onChange: (change: BackendChange) => void = () => undefined
  #onGuest: (caller: GuestCaller) => void = () => undefined

  open(onChange: (change: BackendChange) => void): Promise<void> {
    this.#onChange = onChange
    return Promise.resolve()
  }

  listenGuests(_port: number, onConnection: (caller: GuestCaller) => void): void {
    this.#onGuest = onConnection
  }

  /** Connects to the host like a guest; returns the guest's end. */
  callHost(workspace: string, token: string): Duplex {
    const [connection, guest] = duplexPair()
    this.admitGuest(workspace, token, connection)
    return guest
  }

  /** Treats a connection accepted elsewhere as a guest's. */
  admitGuest(workspace: string, token: string, connection: Duplex): void {
    this.#onGuest({ workspace, token, connection })
  }

  async close(): Promise<void> {
    for (const process of this.#processes) kill(process, 'SIGKILL')
    const directories = [...this.#volumes.values(), ...this.#homes.values(), ...this.copies.values()]
    await this.#checkpoints.clear()
    await Promise.all(directories.map((path) => rm(path, { recursive: true, force: true })))
  }

  async list(): Promise<readonly Workspace[]> {
    await this.#step('list')
    return [...this.#workspaces.values()]
  }

  async find(name: string): Promise<Workspace | undefined> {
    await this.#step('find')
    return this.#workspaces.get(key(name))
  }

  async hasVolume(name: string): Promise<boolean> {
    await this.#step('hasVolume')
    return this.#volumes.has(key(name))
  }

  async create(
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Workspace> {
    request.enterPhase?.('volume')
    await this.#step('volume')
    signal.throwIfAborted()
    if (request.localDir === '' && !this.#volumes.has(key(request.name)))
      this.#volumes.set(key(request.name), await mkdtemp(join(tmpdir(), 'fake-volume-')))
    const { fork } = request
    if (fork !== undefined)
      await copyTree(
        this.copies.get(fork.origin) ?? this.#checkpoints.pathOf(fork.origin) ?? '',
        this.#volumes.get(key(request.name)) ?? '',
      )
    if (!this.#homes.has(key(request.name)))
      this.#homes.set(key(request.name), await mkdtemp(join(tmpdir(), 'fake-home-')))
    progress('creating the container')
    request.enterPhase?.('boot')
    const { name, createdAt, image, repo, localDir, cpus, memoryMb } = request
    const { forwardPorts, labels, wakes, networkLimits } = request
    const workspace: Workspace = {
      name,
      createdAt,
      image,
      repo,
      localDir,
      cpus,
      memoryMb,
      forwardPorts,
      labels,
      wakes,
      networkLimits,
      forkedFrom: fork?.from,
      backend: 'docker',
      state: { is: 'running' },
      containerId: `fake-${key(name)}`,
      ipAddress: '127.0.0.1',
      pid: 0,
      rootfsPath: '',
    }
    this.#workspaces.set(key(name), workspace)
    this.#environments.set(key(name), request.environment)
    await this.#step('started', signal)
    signal.throwIfAborted()
    return workspace
  }

  start(name: string): Promise<Workspace> {
    return this.#change('start', name, { is: 'running' })
  }

  async stop(name: string): Promise<Workspace> {
    const stopped = await this.#change('stop', name, { is: 'stopped' })
    for (const process of this.#processes) kill(process, 'SIGKILL')
    return stopped
  }

  async suspend(name: string): Promise<Workspace> {
    if (!this.canSuspend) throw fault('SUSPEND_UNSUPPORTED', `workspace "${name}" cannot be suspended`)
    return this.#change('suspend', name, { is: 'suspended' })
  }

  /** Set it to undefined for a backend that cannot. */
  rename: Backend['rename'] = async (name, to) => {
    await this.#step('rename')
    const workspace = this.#workspaces.get(key(name))
    if (workspace === undefined) throw fault('BACKEND_ERROR', `no container ${name}`)
    const maps: readonly Map<string, unknown>[] = [this.#volumes, this.#homes, this.#environments]
    for (const map of maps) {
      const value = map.get(key(name))
      map.delete(key(name))
      map.set(key(to), value)
    }
    this.#workspaces.delete(key(name))
    const renamed = { ...workspace, name: to }
    this.#workspaces.set(key(to), renamed)
    return renamed
  }

  /** Copies for forks, by id: the directory of the volume. Set `forks` to undefined for a backend that cannot. */
  readonly copies = new Map<string, string>()
  forks: Backend['forks'] = {
    take: async (name, { memory }, signal) => {
      if (memory === true && !this.canSuspend)
        throw fault('FORK_UNSUPPORTED', `the memory of "${name}" cannot be copied`)
      await this.#step('take', signal)
      const id = `copy-${this.copies.size + 1}`
      const directory = await mkdtemp(join(tmpdir(), 'fake-copy-'))
      this.copies.set(id, directory)
      await copyTree(this.#volumes.get(key(name)) ?? directory, directory)
      const hasMemory = this.canSuspend && memory !== false
      return { id, hasMemory, pausedMs: this.#workspaces.get(key(name))?.state.is === 'running' ? 5 : 0 }
    },
    release: async (id) => {
      await rm(this.copies.get(id) ?? '', { recursive: true, force: true })
      this.copies.delete(id)
    },
  }

  readonly #checkpoints = new FakeCheckpoints(
    (name) => (this.#workspaces.get(key(name))?.localDir === '' ? this.#volumes.get(key(name)) : undefined),
    (step, signal) => this.#step(step, signal),
  )
  /** Set it to undefined for a backend that cannot. */
  checkpoints: Backend['checkpoints'] = this.#checkpoints

  async remove(name: string, keepVolume: boolean): Promise<void> {
    await this.#step('remove')
    await this.#checkpoints.clear(name)
    this.#workspaces.delete(key(name))
    await this.#removeHome(name)
    const volume = this.#volumes.get(key(name))
    if (keepVolume || volume === undefined) return
    this.#volumes.delete(key(name))
    await rm(volume, { recursive: true, force: true })
  }

  async #removeHome(name: string): Promise<void> {
    const home = this.#homes.get(key(name))
    this.#homes.delete(key(name))
    if (home !== undefined) await rm(home, { recursive: true, force: true })
  }

  async exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    await this.#step('exec')
    const workspace = this.#workspaces.get(key(name))
    if (workspace?.state.is !== 'running') throw fault('BACKEND_ERROR', `${name} is not running`)
    if (request.terminal !== undefined) throw fault('BACKEND_ERROR', 'the fake has no terminals')
    const directory = workspace.localDir || this.#volumes.get(key(name)) || tmpdir()
    return this.#spawn(directory, request, this.#environments.get(key(name)))
  }

  dial(_name: string, port: number): Promise<Duplex> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => resolve(socket))
      socket.once('error', (error) =>
        reject(fault('CONNECT_FAILED', `port ${port} cannot be reached: ${error.message}`, error)),
      )
    })
  }

  readonly canListenInside = (): boolean => true

  async listenInside(name: string, onConnection: (connection: Duplex) => void): Promise<InsideListener> {
    const directory = await mkdtemp(join(tmpdir(), 'fake-inside-'))
    const path = join(directory, 'socket')
    const listener = await listenAt({ path }, onConnection)
    const { uid } = statSync(this.#workspaces.get(key(name))?.localDir || this.#volumes.get(key(name)) || '/')
    if (userInfo().uid === 0) for (const each of [directory, path]) await chown(each, uid, -1)
    await chmod(path, 0o600)
    const close = async (): Promise<void> => {
      listener.close()
      await rm(directory, { recursive: true, force: true })
    }
    return { path, close }
  }

  readonly listenPort: Backend['listenPort'] = (_name, port, onConnection) =>
    listenAt({ host: '127.0.0.1', port }, onConnection)

  loginEnvironment(name: string): Promise<LoginEnvironment> {
    const { username, uid } = userInfo()
    const home = this.#homes.get(key(name)) ?? '/'
    return Promise.resolve({ user: username, userId: uid, home, shell: '/bin/bash' })
  }

  /** Loads of its workspaces by container id; unknown until set. */
  readonly loadsNow = new Map<string, Load>()

  loads(running: readonly Workspace[]): Promise<ReadonlyMap<string, Load>> {
    const isAsked = (id: string): boolean => running.some(({ containerId }) => containerId === id)
    return Promise.resolve(new Map([...this.loadsNow].filter(([id]) => isAsked(id))))
  }

  /** Output of its workspaces. */
  printed = ''

  logs(_name: string, lines: number): Promise<readonly string[]> {
    return Promise.resolve(lastLogLines(this.printed, lines))
  }

  async *followLogs(name: string, lines: number, signal: AbortSignal): AsyncGenerator<string> {
    let at = this.printed.length
    yield* lastLogLines(this.printed, lines)
    while (!signal.aborted && this.#workspaces.get(key(name))?.state.is === 'running') {
      const added = this.printed.slice(at)
      at = this.printed.length
      if (added === '') await delay(10)
      else yield* lastLogLines(added, Infinity)
    }
  }

  usage(): Promise<BackendUsage> {
    const sizes = { files: 1, logicalBytes: 1_000, physicalBytes: 4_096 }
    const parts = [...this.#workspaces.values()].map(
      (each) => [each.name, [{ kind: 'volume', path: '/fake', size: sizes }]] as const,
    )
    return Promise.resolve({
      images: [{ name: 'fake:1', path: '/fake', dockerRef: 'fake:1', size: sizes }],
      workspaces: new Map(parts),
      snapshots: [],
      notes: [],
    })
  }

  /** When each workspace was stopped; missing entries count as stopped now. */
  readonly changes = new Map<string, Date>()

  changedAt(name: string): Promise<Date> {
    return Promise.resolve(this.changes.get(key(name)) ?? new Date())
  }

  /** Reports a change of a container behind the server's back. */
  happen(name: string, state: Workspace['state'] | 'gone'): void {
    const workspace = this.#workspaces.get(key(name))
    if (state === 'gone') this.#workspaces.delete(key(name))
    else if (workspace !== undefined) this.#workspaces.set(key(name), { ...workspace, state })
    this.#onChange({ is: 'changed', name })
  }

  /** Reports that a workspace stopped and asks to be started again. */
  reboot(name: string): void {
    const workspace = this.#workspaces.get(key(name))
    if (workspace !== undefined) this.#workspaces.set(key(name), { ...workspace, state: { is: 'stopped' } })
    this.#onChange({ is: 'rebooting', name })
  }

  /** Makes the engine unavailable or available. */
  setAvailable(isAvailable: boolean): void {
    this.isAvailable = isAvailable
    this.#onChange({ is: isAvailable ? 'resync' : 'away' })
  }

  async #change(step: string, name: string, state: Workspace['state']): Promise<Workspace> {
    await this.#step(step)
    const workspace = this.#workspaces.get(key(name))
    if (workspace === undefined) throw fault('BACKEND_ERROR', `no container ${name}`)
    const changed = { ...workspace, state }
    this.#workspaces.set(key(name), changed)
    return changed
  }

  async #step(name: string, signal?: AbortSignal): Promise<void> {
    if (!this.isAvailable) throw fault('BACKEND_UNAVAILABLE', 'the fake engine is away')
    await this.before.get(name)?.(signal)
  }

  #spawn(
    directory: string,
    request: ExecRequest,
    environment: Readonly<Record<string, string>> = {},
  ): ExecProcess {
    const [program = 'true', ...argv] = request.argv.map((word) => word.replace(WORKSPACE_DIR, directory))
    const { uid, gid } = statSync(directory)
    const process = spawn(program, argv, {
      cwd: directory,
      detached: true,
      // Like a real backend: a mounted directory stays its owner's.
      ...(userInfo().uid === 0 && { uid, gid }),
      env: {
        PATH: '/usr/bin:/bin',
        HOME: directory,
        TMUX_TMPDIR: directory,
        ...environment,
        ...request.environment,
      },
    })
    this.#processes.add(process)
    if (request.stdin === false) process.stdin.end()
    const exitStatus = new Promise<ExitStatus>((resolve) => {
      process.on('error', () => resolve({ status: 126 }))
      process.on('close', (code, signal) => {
        // Programs that it started in the background run on until the workspace stops.
        if (!kill(process, 0)) this.#processes.delete(process)
        if (signal === null) resolve({ status: code ?? 0 })
        else resolve({ status: 128 + constants.signals[signal], signal })
      })
    })
    return {
      stdin: process.stdin,
      stdout: process.stdout,
      stderr: process.stderr,
      exitStatus,
      resize: () => undefined,
      signal: (name) => Promise.resolve(kill(process, name)),
      hangUp: () => {
        kill(process, 'SIGHUP')
        for (const stream of [process.stdin, process.stdout, process.stderr]) stream.destroy()
        return Promise.resolve()
      },
    }
  }
}

function key(name: string): string {
  return name.toLowerCase()
}

function kill(process: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.pid !== undefined && globalThis.process.kill(-process.pid, signal)
  } catch {
    return false
  }
}
