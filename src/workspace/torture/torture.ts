import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import type { ProcessIdentity } from '../../lib/process/process-identity.ts'
import { Random } from '../../lib/random/random.ts'
import { ServerObjects } from '../backend/docker/server-objects.ts'
import { WorkspaceError } from '../client/sdk/errors.ts'
import { Actor } from './actor.ts'
import { cleanUp, doubledObjects, orphanedFiles, orphanedObjects, orphanedProcesses } from './clean-up.ts'
import { Clients, requestLimit } from './clients.ts'
import { compare, type Finding } from './compare.ts'
import { childrenOf, FAULTS, type InjectedFault, whyImpossible } from './faults.ts'
import { Gate } from './gate.ts'
import { FAULT_KINDS, type FaultKind } from './kinds.ts'
import { Ledger } from './ledger.ts'
import { observe } from './observe.ts'
import { PrivateServer } from './private-server.ts'
import type { FaultSummary, TortureReport } from './report.ts'
import { startServer, type StartServer } from './server-process.ts'

const ACTORS = 3
/** Longest time between the start of a round and its fault. */
const ROUND_MS = 2_500
const SETTLE_MS = 10_000
const RECOVERY_LIMIT_MS = 60_000
const RETRY_MS = 50
const PROBE_LIMIT_MS = 10_000

/** Options of a run. */
export interface TortureOptions {
  readonly durationMs: number
  /** Determines the faults and their moments, and the requests of each client. */
  readonly seed: number
  /** Kinds of faults to inject. */
  readonly kinds: readonly FaultKind[]
  /** Entry file of the program `workspace`. */
  readonly entry: string
  /** Settings of the run's server, in the shape of a config file. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly environment: NodeJS.ProcessEnv
  /** Address of the engine. */
  readonly engine: string | undefined
  /** Aborting it ends the rounds; everything is then removed as usual. */
  readonly signal: AbortSignal
  readonly progress: (message: string) => void
  readonly start?: StartServer
  /** Time after which work that a fault interrupted has ended, and a check must find nothing; default 10 s. */
  readonly settleMs?: number
}

/**
 * Runs a separate server, uses it with several clients, injects faults at random moments, and compares what the server
 * shows after each with what it has acknowledged. Removes everything at the end.
 *
 * @throws BACKEND_UNAVAILABLE when the server does not start
 */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'workspace-torture-')))
  const server = await PrivateServer.prepare({
    ...options,
    directory,
    start: options.start ?? startServer,
    hasSeparateDisk: options.kinds.includes('disk'),
  })
  const run = new Run(options, server, directory)
  try {
    await run.open()
    await run.work()
  } catch (error) {
    await run.close()
    throw error
  }
  return run.finish()
}

/** One run. */
class Run {
  readonly #options: TortureOptions
  readonly #server: PrivateServer
  readonly #directory: string
  /** Distinguishes the names of its workspaces. */
  readonly #prefix = `torture-${randomBytes(3).toString('hex')}-`
  readonly #random: Random
  readonly #ledger = new Ledger()
  readonly #gate = new Gate()
  readonly #stopped = new AbortController()
  readonly #findings = new Map<string, Finding>()
  readonly #notes = new Set<string>()
  readonly #recoveriesMs = new Map<FaultKind, number[]>()
  readonly #processes: ProcessIdentity[] = []
  #clients: Clients | undefined
  #objects: ServerObjects | undefined
  #hostKey = ''
  #whyNotCreated = ''
  #names = 0
  #rounds = 0
  #beganMs = performance.now()

  constructor(options: TortureOptions, server: PrivateServer, directory: string) {
    this.#options = options
    this.#server = server
    this.#directory = directory
    this.#random = new Random(options.seed)
  }

  /** Starts the server and connects to it. */
  async open(): Promise<void> {
    await this.#server.start()
    this.#objects = await ServerObjects.open(this.#options.engine, await this.#server.serverId())
    // Fails at once without an engine.
    await this.#objects.list()
    this.#hostKey = await this.#server.hostKey()
    this.#clients = await Clients.open(this.#server, this.#directory, this.#hostKey)
    this.#beganMs = performance.now()
  }

  /** Lets clients work while it injects faults, until the time is over, it is stopped or a check fails. */
  async work(): Promise<void> {
    const actors = Promise.all(Array.from({ length: ACTORS }, (_, number) => this.#act(number)))
    actors.catch(() => this.#stopped.abort())
    try {
      while (!this.#isOver()) await this.#round()
    } finally {
      this.#stopped.abort()
      await actors
    }
  }

  /** Checks everything a last time, deletes the workspaces, stops the server and looks for orphans. */
  async finish(): Promise<TortureReport> {
    const durationMs = performance.now() - this.#beganMs
    const { clients, objects } = this.#opened()
    if (this.#whyNotCreated !== '' && !this.#ledger.acknowledged.has('create'))
      this.#report('stuck', `no workspace was created: ${this.#whyNotCreated}`)
    try {
      if (this.#findings.size === 0) {
        await this.#startAll()
        await this.#check()
      }
      for (const { name } of await clients.api.list({ signal: requestLimit() }))
        await this.#deleteForGood(name)
      this.#note(compare(this.#ledger, await observe(clients.api)))
      this.#processes.push(...(await childrenOf(this.#server.running.pid)))
      const how = await this.#server.running.stop()
      if (how !== 0) this.#report('stuck', `the server ended with ${how} instead of stopping`)
      this.#note(await orphanedProcesses(this.#processes))
      this.#note(await orphanedObjects(objects))
      this.#note(await orphanedFiles(this.#server))
    } catch (error) {
      this.#report('stuck', messageOf(error))
    }
    const logFile = await this.#keepLog()
    return {
      seed: this.#options.seed,
      durationMs,
      rounds: this.#rounds,
      faults: FAULT_KINDS.map((kind) => this.#summary(kind)),
      acknowledged: this.#ledger.acknowledged,
      unanswered: this.#ledger.unanswered,
      findings: [...this.#findings.values()],
      remnants: await this.close(),
      notes: [...this.#notes],
      logFile,
    }
  }

  /** Kills the server if it still runs, and removes everything. Returns what it could not remove. */
  async close() {
    this.#clients?.close()
    await this.#server.kill()
    const remnants = await cleanUp({
      server: this.#server,
      objects: this.#objects,
      processes: this.#processes,
      directory: this.#directory,
      prefix: this.#prefix,
    })
    await this.#objects?.close()
    return remnants
  }

  #isOver(): boolean {
    const { signal, durationMs } = this.#options
    const isLate = performance.now() - this.#beganMs > durationMs
    return isLate || signal.aborted || this.#stopped.signal.aborted || this.#findings.size > 0
  }

  async #round(): Promise<void> {
    const { progress } = this.#options
    const kinds = this.#options.kinds.filter((kind) => whyImpossible(kind, this.#server) === undefined)
    await this.#pause(this.#random.below(ROUND_MS))
    if (kinds.length > 0) await this.#inject(this.#random.pick(kinds))
    await this.#pause(this.#random.below(ROUND_MS / 5))
    await this.#gate.closed(() => this.#check())
    this.#rounds++
    progress(`round ${this.#rounds}: ${this.#findings.size === 0 ? 'nothing lost' : 'FAILED'}`)
  }

  async #inject(kind: FaultKind): Promise<void> {
    const { clients, objects } = this.#opened()
    const expectExit = (processes: readonly ProcessIdentity[]) => void this.#processes.push(...processes)
    const targets = { server: this.#server, clients, objects, ledger: this.#ledger, expectExit }
    try {
      const fault = await FAULTS[kind](targets, this.#random)
      if (fault === undefined) return
      await this.#recover(fault)
      const recoveriesMs = this.#recoveriesMs.get(kind) ?? []
      this.#recoveriesMs.set(kind, [...recoveriesMs, performance.now() - fault.sinceMs])
    } catch (error) {
      this.#report('stuck', `after a fault of kind ${kind}: ${messageOf(error)}`)
    }
  }

  /** Waits until the server works. @throws the last failure when it does not within the limit */
  async #recover(fault: InjectedFault): Promise<void> {
    for (;;) {
      try {
        if (await this.#probe(fault)) return
      } catch (error) {
        if (performance.now() - fault.sinceMs > RECOVERY_LIMIT_MS) throw error
      }
      await delay(RETRY_MS)
    }
  }

  /** Returns whether the workspace that was hit runs again, or else whether a program can be run in any. */
  async #probe({ workspace: name }: InjectedFault): Promise<boolean> {
    const { api } = this.#opened().clients
    const signal = AbortSignal.timeout(PROBE_LIMIT_MS)
    const workspaces = await api.list({ signal })
    const hit = workspaces.find((workspace) => workspace.name === name)
    // It was deleted, or its client stopped it.
    const isResting = hit === undefined || this.#ledger.find(hit.name)?.status.admits('running') === false
    if (name !== undefined && isResting) return true
    const running = hit ?? workspaces.find(({ info }) => info.status === 'running')
    if (running === undefined) return true
    return (await running.exec(['true'], { signal })).exitStatus === 0
  }

  /** Compares the server with the ledger until they agree, or for as long as interrupted work may take. */
  async #check(): Promise<void> {
    const { clients, objects } = this.#opened()
    const endMs = performance.now() + (this.#options.settleMs ?? SETTLE_MS)
    for (;;) {
      const findings = await this.#compare(clients, objects)
      if (findings.length === 0) return
      if (performance.now() > endMs) return this.#note(findings)
      await delay(RETRY_MS)
    }
  }

  async #compare(clients: Clients, objects: ServerObjects): Promise<readonly Finding[]> {
    try {
      const isSameKey = (await this.#server.hostKey()) === this.#hostKey
      return [
        ...compare(this.#ledger, await observe(clients.api)),
        ...(await doubledObjects(objects)),
        ...(isSameKey ? [] : [{ kind: 'changed' as const, what: 'the host key of the SSH server' }]),
      ]
    } catch (error) {
      return [{ kind: 'stuck', what: `the workspaces cannot be checked: ${messageOf(error)}` }]
    }
  }

  /** Starts every workspace, so that all files can be read. */
  async #startAll(): Promise<void> {
    for (const workspace of await this.#opened().clients.api.list({ signal: requestLimit() })) {
      const status = this.#ledger.find(workspace.name)?.status
      status?.leaveOpen('running')
      if (workspace.info.status === 'stopped') await workspace.start({ signal: requestLimit() })
    }
  }

  /** Deletes a workspace, whose deletion must last. */
  async #deleteForGood(name: string): Promise<void> {
    const { api } = this.#opened().clients
    const signal = requestLimit()
    try {
      await (await api.get(name, { signal })).delete({ signal })
    } catch (error) {
      if (!(error instanceof WorkspaceError && error.code === 'WORKSPACE_NOT_FOUND')) throw error
    }
    const exists = this.#ledger.find(name)?.exists
    exists?.begin(false)
    exists?.acknowledge()
  }

  async #act(number: number): Promise<void> {
    const actor = new Actor({
      clients: this.#opened().clients,
      ledger: this.#ledger,
      random: new Random(this.#options.seed + number + 1),
      nextName: () => `${this.#prefix}${++this.#names}`,
      report: (finding) => this.#note([finding]),
      creationFailed: (why) => (this.#whyNotCreated = why),
      note: (what) => this.#notes.add(what),
    })
    while (!this.#stopped.signal.aborted) {
      const isAnswered = await this.#gate.pass(() => actor.step())
      if (!isAnswered) await delay(RETRY_MS)
    }
  }

  /** Waits, but not beyond the end of the run. */
  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#options.signal }).catch(ignore('a wait that was aborted'))
  }

  #summary(kind: FaultKind): FaultSummary {
    const recoveriesMs = this.#recoveriesMs.get(kind) ?? []
    const whyNot = this.#options.kinds.includes(kind)
      ? whyImpossible(kind, this.#server)
      : 'it was not requested'
    return { kind, count: recoveriesMs.length, recoveriesMs, whyNot }
  }

  #report(kind: Finding['kind'], what: string): void {
    this.#note([{ kind, what }])
  }

  #note(findings: readonly Finding[]): void {
    for (const finding of findings) this.#findings.set(finding.what, finding)
  }

  /** Keeps the server's log outside of the run's directory if something was found. */
  async #keepLog(): Promise<string | undefined> {
    if (this.#findings.size === 0) return undefined
    const kept = `${this.#directory}.log`
    await copyFile(this.#server.logFile, kept)
    return kept
  }

  #opened(): { readonly clients: Clients; readonly objects: ServerObjects } {
    if (this.#clients === undefined || this.#objects === undefined) throw new Error('the run has not begun')
    return { clients: this.#clients, objects: this.#objects }
  }
}
