import { KeyedLock } from '../../../lib/process/keyed-lock.ts'
import { fault } from '../../errors.ts'
import { nameKey } from '../../name.ts'
import { limitsFromWire, narrowed } from '../../network/narrow.ts'
import type { NetworkPolicy } from '../../network/policy.ts'
import { type ApiClient, ApiFailure, type Query } from './api/api-client.ts'
import {
  anySchema,
  type Claim,
  claimSchema,
  type ConfigMap,
  configMapSchema,
  eventSchema,
  type Pod,
  podSchema,
  secretSchema,
} from './api/objects.ts'
import {
  configMap,
  dataOf,
  pod,
  type PodSettings,
  type Placed,
  secret,
  secretData,
  SHARED_POLICY,
  volumeClaim,
} from './manifests.ts'
import { LABEL, objectName } from './names.ts'
import { networkPolicyOf, type PolicyNetworks } from './pod-policy.ts'
import { recordOf, type WorkspaceRecord } from './record.ts'

/** Attempts to change an object that others change at the same time. */
const ATTEMPTS = 5

/** Settings of a server's objects in a cluster. */
export interface ObjectSettings extends PodSettings {
  readonly namespace: string
  readonly policy: NetworkPolicy
  readonly networks: PolicyNetworks
}

/** A workspace's ConfigMap with its readable record. */
export interface ReadRecord extends Placed {
  readonly map: ConfigMap
}

/** Reads and writes the objects of one server's workspaces. */
export class PodObjects {
  readonly #client: ApiClient
  readonly #settings: ObjectSettings
  readonly #policies = new KeyedLock()
  /** Policies that this server has applied, by name and selected pods. */
  readonly #applied = new Set<string>()

  constructor(client: ApiClient, settings: ObjectSettings) {
    this.#client = client
    this.#settings = settings
  }

  /** Label selector of this server's objects. */
  get selector(): string {
    return `${LABEL.server}=${this.#settings.serverId}`
  }

  /** Returns the path of a kind of core objects, or of a workspace's. */
  path(kind: string, name?: string): string {
    const all = `/api/v1/namespaces/${this.#settings.namespace}/${kind}`
    return name === undefined ? all : `${all}/${objectName(name)}`
  }

  async maps(): Promise<readonly ConfigMap[]> {
    return (await this.#list(configMapSchema, 'configmaps')).items
  }

  async pods(): Promise<readonly Pod[]> {
    return (await this.#list(podSchema, 'pods')).items
  }

  async claims(): Promise<readonly Claim[]> {
    return (await this.#list(claimSchema, 'persistentvolumeclaims')).items
  }

  /** Returns a workspace's ConfigMap, unless another server or program made it. */
  async map(name: string): Promise<ConfigMap | undefined> {
    const map = await this.#client.find(configMapSchema, this.path('configmaps', name))
    return map !== undefined && this.#isOwn(map) ? map : undefined
  }

  async pod(name: string): Promise<Pod | undefined> {
    const found = await this.#client.find(podSchema, this.path('pods', name))
    return found !== undefined && this.#isOwn(found) ? found : undefined
  }

  claim(name: string): Promise<Claim | undefined> {
    return this.#client.find(claimSchema, this.path('persistentvolumeclaims', name))
  }

  /** @throws BACKEND_ERROR when the workspace has no readable record */
  async read(name: string): Promise<ReadRecord> {
    const map = await this.map(name)
    const record = map === undefined ? undefined : recordOf(map)
    if (map === undefined || record === undefined)
      throw fault('BACKEND_ERROR', `the record of workspace "${name}" is missing or unreadable`)
    return { map, record, uid: map.metadata.uid }
  }

  /** Changes a workspace's record; repeats it when another change came in between. */
  async change(name: string, work: (record: WorkspaceRecord) => WorkspaceRecord): Promise<ReadRecord> {
    for (let attempt = 1; ; attempt++) {
      const { map, record, uid } = await this.read(name)
      const { resourceVersion } = map.metadata
      const next = work(record)
      try {
        const body = { metadata: { uid, resourceVersion }, data: dataOf(next) }
        const changed = await this.#client.patch(configMapSchema, this.path('configmaps', name), body)
        return { map: changed, record: next, uid }
      } catch (error) {
        if (!(error instanceof ApiFailure) || error.status !== 409 || attempt >= ATTEMPTS) throw error
      }
    }
  }

  /** @throws BACKEND_ERROR when a new workspace could not have a volume of this name */
  async requireVolume(name: string): Promise<void> {
    const found = await this.claim(name)
    if (found === undefined) return
    this.#requireOwn(found, name)
    if (found.metadata.deletionTimestamp === undefined) return
    throw fault(
      'BACKEND_ERROR',
      `volume ${objectName(name)} of an earlier workspace is still being deleted; try again later`,
    )
  }

  /** Reserves the name. @throws BACKEND_ERROR when another server of the namespace uses it */
  async reserve(record: WorkspaceRecord, signal: AbortSignal): Promise<Placed> {
    try {
      const body = configMap(this.#settings.serverId, record)
      const map = await this.#client.create(configMapSchema, this.path('configmaps'), body, signal)
      return { record, uid: map.metadata.uid }
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error
      throw fault(
        'BACKEND_ERROR',
        `"${record.name}" is the name of another workspace in namespace ${this.#settings.namespace}, perhaps of another server`,
        error,
      )
    }
  }

  /** Creates the volume, or adopts the one that an earlier workspace of the name left. */
  async makeVolume(placed: Placed, signal: AbortSignal): Promise<void> {
    const { name } = placed.record
    const kept = await this.claim(name)
    if (kept === undefined) {
      const body = volumeClaim(this.#settings, placed)
      await this.#client.create(claimSchema, this.path('persistentvolumeclaims'), body, signal)
      return
    }
    await this.requireVolume(name)
    const { resourceVersion, uid } = kept.metadata
    const labels = { [LABEL.uid]: placed.uid, [LABEL.kept]: null }
    await this.#client.patch(claimSchema, this.path('persistentvolumeclaims', name), {
      metadata: { uid, resourceVersion, labels },
    })
  }

  /** Creates a start's keys and then its pod. */
  async makePod(placed: Placed, signal: AbortSignal): Promise<Pod> {
    const { name } = placed.record
    await this.#makePolicy(placed)
    // Loaded by the server only, not by the processes that enter pods.
    const { generateAgentKeys } = await import('./agent-keys.ts')
    const keys = await generateAgentKeys(placed.uid)
    try {
      const body = secret(this.#settings, placed, keys)
      await this.#client.create(secretSchema, this.path('secrets'), body, signal)
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error
      await this.#client.patch(secretSchema, this.path('secrets', name), {
        metadata: { labels: { [LABEL.uid]: placed.uid } },
        stringData: secretData(keys),
      })
    }
    return this.#client.create(podSchema, this.path('pods'), pod(this.#settings, placed), signal)
  }

  /** Deletes a workspace's pod and returns whether there was one; it may still be terminating. */
  async removePod(name: string, graceS?: number): Promise<boolean> {
    const found = await this.pod(name)
    if (found === undefined) return false
    if (found.metadata.deletionTimestamp === undefined)
      await this.#client.delete(this.path('pods', name), found.metadata.uid, graceS)
    return true
  }

  /** Marks the volume of a workspace that is being deleted, so that the next one of its name may adopt it. */
  async keepVolume(name: string): Promise<void> {
    const found = await this.claim(name)
    if (found === undefined) return
    this.#requireOwn(found, name)
    const { uid, resourceVersion } = found.metadata
    const metadata = { uid, resourceVersion, labels: { [LABEL.kept]: 'true' } }
    await this.#client.patch(claimSchema, this.path('persistentvolumeclaims', name), { metadata })
  }

  /**
   * Deletes a workspace's volume, and returns whether there was one; another server's is left alone.
   *
   * @param uid UID of its workspace; undefined for one whose workspace was deleted
   * @throws BACKEND_ERROR when the volume does not belong to that workspace
   */
  async removeVolume(name: string, uid: string | undefined): Promise<boolean> {
    const found = await this.claim(name)
    if (found === undefined || !this.#isOwn(found)) return false
    const labels = found.metadata.labels ?? {}
    const belongs = uid === undefined ? labels[LABEL.kept] === 'true' : labels[LABEL.uid] === uid
    if (!belongs)
      throw fault(
        'BACKEND_ERROR',
        `volume ${objectName(name)} was not deleted: its labels do not name this workspace; delete it by hand if it is not needed`,
      )
    return this.#client.delete(this.path('persistentvolumeclaims', name), found.metadata.uid)
  }

  /** Deletes what remains of a workspace without its volume; its record last. */
  async removeRest(name: string, map: ConfigMap): Promise<void> {
    const policy = `${this.#policyPath}/${objectName(name)}`
    for (const path of [this.path('secrets', name), policy]) {
      const found = await this.#client.find(anySchema, path)
      if (found !== undefined && this.#isOwn(found)) await this.#client.delete(path, found.metadata.uid)
    }
    await this.#client.delete(this.path('configmaps', name), map.metadata.uid)
  }

  /** Returns what the cluster reported about an object, oldest first. */
  async events(uid: string): Promise<readonly string[]> {
    const query = { fieldSelector: `involvedObject.uid=${uid}` }
    const { items } = await this.#client.list(eventSchema, this.path('events'), query)
    return items
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason = '', message = '' }) => `${reason}: ${message}`)
  }

  /** Returns the workspaces that should have a pod. */
  async started(): Promise<readonly Placed[]> {
    return (await this.maps()).flatMap((map): readonly Placed[] => {
      const record = recordOf(map)
      return record?.isWanted === true ? [{ record, uid: map.metadata.uid }] : []
    })
  }

  /** Applies the policy of a started workspace if this server has not applied it yet, or somebody deleted it. */
  async restorePolicy(placed: Placed): Promise<void> {
    // The workspace may have been deleted, with its policy.
    const isThere =
      placed.record.network === undefined || (await this.map(placed.record.name))?.metadata.uid === placed.uid
    if (isThere) await this.#makePolicy(placed)
  }

  /** Creates or updates the policy that selects the pod, before it exists: without one it could connect anywhere. */
  async #makePolicy({ record, uid }: Placed): Promise<void> {
    const { serverId, policy, networks } = this.#settings
    const isLimited = record.network !== undefined
    const name = isLimited ? objectName(record.name) : `workspace-${serverId}`
    const selected = isLimited ? uid : SHARED_POLICY
    const narrow = isLimited ? narrowed(policy, limitsFromWire(record.network)) : policy
    const key = `${name} ${selected}`
    await this.#policies.run(name, async () => {
      // Somebody may have deleted it since.
      const path = `${this.#policyPath}/${name}`
      if (this.#applied.has(key) && (await this.#client.find(anySchema, path)) !== undefined) return
      await this.#applyPolicy(networkPolicyOf({ name, serverId, selected }, narrow, networks))
      this.#applied.add(key)
    })
  }

  async #applyPolicy(body: ReturnType<typeof networkPolicyOf>): Promise<void> {
    try {
      await this.#client.create(anySchema, this.#policyPath, body)
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error
      await this.#client.patch(anySchema, `${this.#policyPath}/${body.metadata.name}`, body)
    }
  }

  get #policyPath(): string {
    return `/apis/networking.k8s.io/v1/namespaces/${this.#settings.namespace}/networkpolicies`
  }

  #list<S extends Parameters<ApiClient['list']>[0]>(schema: S, kind: string, query: Query = {}) {
    return this.#client.list(schema, this.path(kind), { ...query, labelSelector: this.selector })
  }

  #isOwn({ metadata }: { readonly metadata: ConfigMap['metadata'] }): boolean {
    return metadata.labels?.[LABEL.server] === this.#settings.serverId
  }

  /** @throws BACKEND_ERROR unless the labels name this server and the workspace */
  #requireOwn(claim: Claim, name: string): void {
    const labels = claim.metadata.labels ?? {}
    if (this.#isOwn(claim) && nameKey(labels[LABEL.name] ?? '') === nameKey(name)) return
    throw fault(
      'BACKEND_ERROR',
      `volume ${objectName(name)} belongs to another server of namespace ${this.#settings.namespace}, or to nobody; choose another name`,
    )
  }
}
