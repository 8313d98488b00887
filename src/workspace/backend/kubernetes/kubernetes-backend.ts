import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ignore } from '../../../lib/errors/ignore.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { AGENT_PORT } from '../../../lib/guest/protocol.ts'
import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import { nameKey } from '../../name.ts'
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
import { lastLogLines, logLinesOf } from '../log-lines.ts'
import { askGuest } from '../microvm/guest/ask-guest.ts'
import { GuestClient } from '../microvm/guest/guest-client.ts'
import { ApiClient, type ApiTiming } from './api/api-client.ts'
import type { ClusterAccess } from './api/cluster-access.ts'
import { followObjects } from './api/list-watch.ts'
import { type Claim, type ConfigMap, configMapSchema, type Pod, podSchema } from './api/objects.ts'
import type { Placed } from './manifests.ts'
import { LABEL, objectName } from './names.ts'
import { NextChange } from './next-change.ts'
import { readPodLog } from './pod-log.ts'
import { type ObjectSettings, PodObjects } from './pod-objects.ts'
import { PodReach } from './pod-reach.ts'
import { progressOf, stateOf, whyUnbound } from './pod-state.ts'
import { newRecord, recordOf, workspaceOf } from './record.ts'
import { readClusterUsage } from './usage.ts'
import { APPLY_RULES, attempt, type Report, type Subject, workspaceSubject } from '../trouble.ts'

/** Time within which a server that starts waits for the cluster; afterwards it reports it as unavailable. */
const OPEN_MS = 5_000
const AGENT_RETRY_MS = 100
const LAST_LOOK_MS = 1_000
/** Longer than the grace period of a pod on a busy node. */
const GONE_TIMEOUT_MS = 120_000
/** Time after which a deleted network policy is restored at the latest. */
const POLICY_EVERY_MS = 30_000
/** A deleted workspace's programs need no time to save anything. */
const REMOVAL_GRACE_S = 1

/** Options of the Kubernetes backend. */
export interface KubernetesOptions extends ObjectSettings {
  readonly access: () => Promise<ClusterAccess>
  readonly startTimeoutMs: number
  /** Size of a volume created without one. */
  readonly diskBytes: number
  readonly timing?: ApiTiming | undefined
}

/** Runs workspaces as pods of a cluster, with their files on a volume and their state in a ConfigMap. */
export class KubernetesBackend implements Backend {
  readonly name = 'kubernetes'
  readonly #options: KubernetesOptions
  readonly #stopped = new AbortController()
  readonly #locks = new KeyedLock()
  readonly #changes = new NextChange()
  #opened: { readonly client: ApiClient; readonly objects: PodObjects; readonly reach: PodReach } | undefined
  #guests: GuestClient | undefined
  #watches: readonly Promise<void>[] = []
  #whyUnavailable: string | undefined = 'the cluster has not responded yet'

  constructor(options: KubernetesOptions) {
    this.#options = options
  }

  get isAvailable(): boolean {
    return this.#whyUnavailable === undefined
  }

  get whyUnavailable(): string | undefined {
    return this.#whyUnavailable
  }

  async open(onChange: (change: BackendChange) => void): Promise<void> {
    const { access, namespace, timing } = this.#options
    const client = new ApiClient(await access(), timing)
    const objects = new PodObjects(client, this.#options)
    const reach = new PodReach(client, namespace)
    this.#opened = { client, objects, reach }
    this.#guests = new GuestClient(reach.reach)
    const first = Promise.withResolvers<void>()
    const { signal } = this.#stopped
    const back = (): void => {
      this.#whyUnavailable = undefined
      first.resolve()
      onChange({ is: 'resync' })
    }
    const handlers = {
      onList: back,
      onBack: back,
      onLost: (error: unknown) => {
        this.#whyUnavailable = messageOf(error)
        first.resolve()
        onChange({ is: 'away' })
      },
      onChange: (object: Pod | ConfigMap) => this.#noteChange(object, onChange),
    }
    const { selector } = objects
    this.#watches = [
      followObjects(client, { schema: podSchema, path: objects.path('pods'), selector }, handlers, signal),
      followObjects(
        client,
        { schema: configMapSchema, path: objects.path('configmaps'), selector },
        handlers,
        signal,
      ),
    ]
    await Promise.race([first.promise, delay(OPEN_MS, undefined, { ref: false })])
    void this.#keepPolicies(objects, (outcome) => signal.aborted || onChange({ is: 'trouble', ...outcome }))
  }

  /** Restores the network policies of started workspaces, and those that somebody deletes later. */
  async #keepPolicies(objects: PodObjects, report: Report): Promise<void> {
    const { signal } = this.#stopped
    /** Workspaces whose lock is awaited. */
    const waiting = new Set<string>()
    const restoreLimited = async (placed: Placed): Promise<void> => {
      const { name } = placed.record
      // One that starts gets its policy before its pod.
      if (waiting.has(name)) return
      waiting.add(name)
      const restore = () => this.#locks.run(nameKey(name), () => objects.restorePolicy(placed))
      await attempt(report, APPLY_RULES, restore, workspaceSubject(name))
      waiting.delete(name)
    }
    const shared: Subject = {
      name: 'the network policy of the server',
      concerns: ({ state, networkLimits }) => state.is === 'running' && networkLimits === undefined,
    }
    while (!signal.aborted) {
      if (this.isAvailable)
        await attempt(report, 'list the workspaces of the cluster', async () => {
          const started = await objects.started()
          for (const limited of started.filter(({ record }) => record.network !== undefined))
            void restoreLimited(limited)
          const first = started.find(({ record }) => record.network === undefined)
          if (first !== undefined)
            await attempt(report, APPLY_RULES, () => objects.restorePolicy(first), shared)
        })
      await delay(POLICY_EVERY_MS, undefined, { signal, ref: false }).catch(ignore('the backend is closed'))
    }
  }

  /** Closes the backend. Pods keep running, and the next server finds them again. */
  async close(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(this.#watches)
    this.#opened?.client.close()
  }

  async list(): Promise<readonly Workspace[]> {
    const { objects } = this.#open
    const [maps, pods] = await Promise.all([objects.maps(), objects.pods()])
    const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]))
    return maps.map((map) => this.#workspace(map, byName.get(map.metadata.name)))
  }

  async find(name: string): Promise<Workspace | undefined> {
    const { objects } = this.#open
    const [map, pod] = await Promise.all([objects.map(name), objects.pod(name)])
    return map === undefined ? undefined : this.#workspace(map, pod)
  }

  async hasVolume(name: string): Promise<boolean> {
    const claim = await this.#open.objects.claim(name)
    return claim !== undefined
  }

  async create(
    request: BackendCreate,
    progress: (message: string) => void,
    signal: AbortSignal,
  ): Promise<Workspace> {
    const { name, localDir, enterPhase } = request
    if (localDir !== '')
      throw fault(
        'INVALID_LOCAL_DIR',
        'local_dir is not available on a cluster: its nodes are other machines',
      )
    if (name.endsWith('-'))
      throw fault('INVALID_REQUEST', `workspace name "${name}" must end with a letter or digit on a cluster`)
    return this.#locks.run(nameKey(name), async () => {
      const { objects } = this.#open
      enterPhase?.('volume')
      await objects.requireVolume(name)
      const diskBytes = request.upperBytes > 0 ? request.upperBytes : this.#options.diskBytes
      const placed = await objects.reserve(newRecord(request, diskBytes), signal)
      await objects.makeVolume(placed, signal)
      enterPhase?.('image')
      await this.#startPod(placed, { progress, signal, onRunning: () => enterPhase?.('boot') })
      return this.#get(name)
    })
  }

  async start(name: string): Promise<Workspace> {
    return this.#locks.run(nameKey(name), async () => {
      const { objects } = this.#open
      const placed = await objects.change(name, (record) => ({ ...record, isWanted: true, changedAt: now() }))
      const { signal } = this.#stopped
      const pod = await objects.pod(name)
      if (pod === undefined || !progressOf(pod).isRunning || pod.metadata.deletionTimestamp !== undefined) {
        await objects.removePod(name, REMOVAL_GRACE_S)
        await this.#awaitGone(name)
        await this.#startPod(placed, { progress: () => undefined, signal, onRunning: () => undefined })
      }
      return this.#get(name)
    })
  }

  async stop(name: string): Promise<Workspace> {
    return this.#locks.run(nameKey(name), async () => {
      const { objects } = this.#open
      await objects.change(name, (record) => ({ ...record, isWanted: false, changedAt: now() }))
      await objects.removePod(name)
      await this.#awaitGone(name)
      return this.#get(name)
    })
  }

  /** @throws SUSPEND_UNSUPPORTED always: the cluster's programs cannot save the memory of a pod */
  suspend(name: string): Promise<Workspace> {
    const why = 'a cluster cannot save the memory of pods; use "workspace stop"'
    return Promise.reject(fault('SUSPEND_UNSUPPORTED', `workspace "${name}" cannot be suspended: ${why}`))
  }

  async remove(name: string, keepVolume: boolean): Promise<void> {
    await this.#locks.run(nameKey(name), async () => {
      const { objects } = this.#open
      const map = await objects.map(name)
      if (map !== undefined) {
        await objects.removePod(name, REMOVAL_GRACE_S)
        await this.#awaitGone(name)
      }
      if (keepVolume) await objects.keepVolume(name)
      else if (map !== undefined || (await this.#isKept(name))) {
        if (await objects.removeVolume(name, map?.metadata.uid)) await this.#awaitVolumeGone(name)
      }
      if (map !== undefined) await objects.removeRest(name, map)
    })
  }

  exec(name: string, request: ExecRequest): Promise<ExecProcess> {
    return this.#inside.exec(name, request)
  }

  dial(name: string, port: number): Promise<Duplex> {
    return this.#inside.dial(name, port)
  }

  readonly canListenInside = (): boolean => true

  listenInside(name: string, onConnection: (connection: Duplex) => void): Promise<InsideListener> {
    return this.#inside.listenInside(name, onConnection)
  }

  readonly listenPort: Backend['listenPort'] = (...of) => this.#inside.listenPort(...of)

  loginEnvironment(name: string): Promise<LoginEnvironment> {
    return this.#inside.loginEnvironment(name)
  }

  /** Reports none: only the nodes can measure their pods. */
  loads(): Promise<ReadonlyMap<string, Load>> {
    return Promise.resolve(new Map())
  }

  usage(): Promise<BackendUsage> {
    return readClusterUsage(this.#open.objects)
  }

  async logs(name: string, lines: number): Promise<readonly string[]> {
    const printed: Buffer[] = []
    const { client, objects } = this.#open
    const log = readPodLog(client, objects.path('pods', name), { tailLines: lines }, this.#stopped.signal)
    for await (const chunk of log) printed.push(chunk)
    return lastLogLines(Buffer.concat(printed).toString(), lines)
  }

  followLogs(name: string, lines: number, signal: AbortSignal): AsyncIterable<string> {
    const { client, objects } = this.#open
    const query = { tailLines: lines, follow: true }
    return logLinesOf(readPodLog(client, objects.path('pods', name), query, signal))
  }

  async changedAt(name: string): Promise<Date> {
    return new Date((await this.#open.objects.read(name)).record.changedAt)
  }

  get #open() {
    if (this.#opened === undefined) throw new Error('the backend is not open')
    return this.#opened
  }

  get #inside(): GuestClient {
    if (this.#guests === undefined) throw new Error('the backend is not open')
    return this.#guests
  }

  #workspace(map: ConfigMap, pod: Pod | undefined): Workspace {
    return workspaceOf(map, pod, stateOf(pod, recordOf(map)?.isWanted ?? false))
  }

  async #get(name: string): Promise<Workspace> {
    const workspace = await this.find(name)
    if (workspace === undefined)
      throw fault('BACKEND_ERROR', `the ConfigMap of workspace "${name}" no longer exists`)
    return workspace
  }

  async #isKept(name: string): Promise<boolean> {
    const labels = (await this.#open.objects.claim(name))?.metadata.labels ?? {}
    return labels[LABEL.server] === this.#options.serverId
  }

  /** Creates a workspace's pod and waits until its agent responds. */
  async #startPod(
    placed: Placed,
    starting: {
      readonly progress: (message: string) => void
      readonly signal: AbortSignal
      readonly onRunning: () => void
    },
  ): Promise<void> {
    const { name } = placed.record
    const { objects, reach } = this.#open
    const { signal } = starting
    const endMs = performance.now() + this.#options.startTimeoutMs
    reach.forget(name)
    const { uid } = (await objects.makePod(placed, signal)).metadata
    let reported = 0
    for (;;) {
      signal.throwIfAborted()
      const changed = this.#changes.of(name, signal)
      const pod = await objects.pod(name)
      if (pod === undefined || pod.metadata.uid !== uid)
        throw fault('BACKEND_ERROR', `the pod of workspace "${name}" was deleted while it started`)
      const { isRunning, isHopeless, waitsFor } = progressOf(pod)
      if (isRunning) break
      const events = await objects.events(uid).catch(ignore('events only explain what takes long', []))
      for (const event of events.slice(reported)) starting.progress(event)
      reported = events.length
      if (isHopeless) throw fault('BACKEND_ERROR', `workspace "${name}" cannot start: ${waitsFor}`)
      if (performance.now() > endMs) throw await this.#timedOut(name, waitsFor || (events.at(-1) ?? ''))
      await changed
    }
    starting.onRunning()
    await this.#awaitAgent(name, endMs, signal)
  }

  async #timedOut(name: string, waitsFor: string) {
    const { objects } = this.#open
    const claim = await objects.claim(name).catch(ignore('it only explains the error'))
    const unbound = whyUnbound(claim)
    const about: Claim['metadata'] | undefined = unbound === undefined ? undefined : claim?.metadata
    const last =
      about === undefined
        ? undefined
        : (await objects.events(about.uid).catch(ignore('they only explain the error', []))).at(-1)
    const why = [waitsFor, unbound, last].filter((text) => text !== undefined && text !== '').join('; ')
    const limit = `${Math.round(this.#options.startTimeoutMs / 1_000)} s (kubernetes.start_timeout)`
    return fault(
      'BACKEND_ERROR',
      `workspace "${name}" did not start within ${limit}: ${why || 'unknown reason'}`,
    )
  }

  async #awaitAgent(name: string, endMs: number, signal: AbortSignal): Promise<void> {
    const { reach } = this.#open
    for (;;) {
      signal.throwIfAborted()
      try {
        const { dialGuest } = await reach.reach(name)
        const connection = await dialGuest(AGENT_PORT)
        await askGuest(connection, { do: 'health' })
        connection.destroy()
        return
      } catch (error) {
        if (performance.now() > endMs)
          throw fault(
            'BACKEND_ERROR',
            `the agent of workspace "${name}" cannot be reached at port ${AGENT_PORT} of its pod: ${messageOf(error)}; this server must be able to connect to the cluster's pods`,
            error,
          )
      }
      await delay(AGENT_RETRY_MS, undefined, { signal })
    }
  }

  async #awaitGone(name: string): Promise<void> {
    const endMs = performance.now() + GONE_TIMEOUT_MS
    for (;;) {
      this.#stopped.signal.throwIfAborted()
      const changed = this.#changes.of(name, this.#stopped.signal)
      if ((await this.#open.objects.pod(name)) === undefined) return
      if (performance.now() > endMs)
        throw fault(
          'BACKEND_ERROR',
          `pod ${objectName(name)} is still terminating after ${GONE_TIMEOUT_MS / 1_000} s; its node may be lost`,
        )
      await changed
    }
  }

  async #awaitVolumeGone(name: string): Promise<void> {
    const endMs = performance.now() + GONE_TIMEOUT_MS
    for (let waitMs = AGENT_RETRY_MS; ; waitMs = Math.min(2 * waitMs, LAST_LOOK_MS)) {
      if ((await this.#open.objects.claim(name)) === undefined) return
      if (performance.now() > endMs)
        throw fault(
          'BACKEND_ERROR',
          `volume ${objectName(name)} is in use and was not deleted; a pod may mount it`,
        )
      await delay(waitMs)
    }
  }

  #noteChange({ metadata }: Pod | ConfigMap, onChange: (change: BackendChange) => void): void {
    const name = metadata.labels?.[LABEL.name]
    if (name === undefined) return
    this.#changes.note(name)
    this.#opened?.reach.forget(name)
    onChange({ is: 'changed', name })
  }
}

function now(): string {
  return new Date().toISOString()
}
