import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AlarmClock } from '../../lib/clock/clock.ts'
import { ignore } from '../../lib/errors/ignore.ts'
import { messageOf } from '../../lib/errors/message.ts'
import { openToken } from '../../lib/fs/token-file.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { AuditLog } from '../audit/audit-log.ts'
import type { Backend, InsidePort } from '../backend/backend.ts'
import { fault } from '../errors.ts'
import { nameKey } from '../name.ts'
import type { BackendName } from '../backend-name.ts'
import type { Timeline } from '../timeline/timeline.ts'
import type { Workspace, WorkspaceChange } from '../workspace.ts'
import { EgressProxy } from './proxy.ts'
import { type EgressEntry, EgressLog } from './request-log.ts'
import type { EgressSettings } from './settings.ts'
import { installAuthority, proxyEnvironment } from './trust.ts'
import { UpstreamConnections } from './upstream.ts'

const KEY_FILE = 'egress-key'
/** Time for the table to learn why a proxy closed. */
const REOPEN_MS = 500
const RETRY_MS = [1_000, 5_000, 15_000, 60_000] as const

/** Dependencies of EgressProxies. */
export interface EgressProxiesOptions {
  readonly table: { readonly find: (name: string) => Workspace | undefined }
  readonly backends: ReadonlyMap<BackendName, Backend>
  readonly timeline: Pick<Timeline, 'note'>
  /** Where the secret is kept from which authorities are derived. */
  readonly state: { readonly path: string }
  readonly audit: AuditLog
  readonly clock: AlarmClock
  readonly logger: Logger
}

interface Attachment {
  /** Changes with each start of the workspace. */
  readonly run: string
  readonly open: Promise<OpenProxy>
}

interface OpenProxy {
  /** Resolves when the workspace can no longer connect to it. */
  readonly closed: Promise<void>
  readonly close: () => void
}

/**
 * The egress proxies of all running workspaces with a profile. Such a workspace has no other way out, so one whose proxy
 * cannot be opened reaches nothing.
 */
export class EgressProxies {
  readonly #settings: EgressSettings
  readonly #options: EgressProxiesOptions
  readonly #attachments = new Map<string, Attachment>()
  readonly #logs = new Map<string, EgressLog>()
  #secret: Promise<string> | undefined
  #isClosed = false

  constructor(settings: EgressSettings, options: EgressProxiesOptions) {
    this.#settings = settings
    this.#options = options
  }

  /** Environment of a new workspace with a profile; empty for others. */
  environmentOf(profileName: string | undefined): Readonly<Record<string, string>> {
    if (profileName === undefined) return {}
    const { profiles, port } = this.#settings
    return { ...profiles.get(profileName)?.environment, ...proxyEnvironment(port) }
  }

  /** Environment by which a snapshot uses a proxy that a new workspace without a profile does not have. */
  foreignEnvironmentOf(profileName: string | undefined): Readonly<Record<string, string>> {
    return profileName === undefined ? proxyEnvironment(this.#settings.port) : {}
  }

  /** Requests of a workspace since the server started. */
  logOf(name: string): EgressLog {
    const known = this.#logs.get(nameKey(name))
    if (known !== undefined) return known
    const log = new EgressLog()
    this.#logs.set(nameKey(name), log)
    return log
  }

  /** Whether the workspace's proxy is open. */
  async isOpen(name: string): Promise<boolean> {
    const attachment = this.#attachments.get(nameKey(name))
    if (attachment === undefined) return false
    return attachment.open.then(
      () => true,
      () => false,
    )
  }

  /** Follows the table: opens the proxies of workspaces that run, and closes the others. */
  observe(change: WorkspaceChange): void {
    if (change.type === 'deleted') {
      this.#detach(change.name)
      this.#logs.delete(nameKey(change.name))
      return
    }
    const { workspace } = change
    if (workspace.state.is === 'running') void this.#keepAttached(workspace, 0)
    else if (workspace.state.is !== 'starting') this.#detach(workspace.name)
  }

  /**
   * Opens the proxy of a running workspace with a profile, unless it is open.
   *
   * @throws PORT_UNAVAILABLE, BACKEND_ERROR and the backend's errors
   */
  async attach(workspace: Workspace): Promise<void> {
    const { name, networkLimits } = workspace
    if (networkLimits?.egressProfile === undefined || this.#isClosed) return
    const run = `${workspace.containerId} ${workspace.pid}`
    const existing = this.#attachments.get(nameKey(name))
    if (existing?.run === run) return void (await existing.open)
    this.#detach(name)
    const attachment = { run, open: this.#open(workspace, networkLimits.egressProfile) }
    const isCurrent = (): boolean => this.#attachments.get(nameKey(name)) === attachment
    this.#attachments.set(nameKey(name), attachment)
    try {
      const { closed } = await attachment.open
      void closed.then(() => isCurrent() && this.#reattach(workspace))
    } catch (error) {
      if (isCurrent()) this.#detach(name)
      throw error
    }
  }

  close(): void {
    this.#isClosed = true
    for (const name of this.#attachments.keys()) this.#detach(name)
  }

  #detach(name: string): void {
    const attachment = this.#attachments.get(nameKey(name))
    this.#attachments.delete(nameKey(name))
    attachment?.open.then(({ close }) => close(), ignore('what failed to open needs no closing'))
  }

  #reattach(workspace: Workspace): void {
    this.#detach(workspace.name)
    this.#attachLater(workspace, 0)
  }

  /** Opens the proxy of a workspace that this server did not just start, and retries while it runs. */
  async #keepAttached(workspace: Workspace, failures: number): Promise<void> {
    const { logger, timeline } = this.#options
    try {
      await this.attach(workspace)
    } catch (error) {
      if (failures === 0)
        timeline.note(workspace.name, `its egress proxy cannot be opened: ${messageOf(error)}`)
      logger.warn({ err: error, workspace: workspace.name }, 'opening an egress proxy failed')
      this.#attachLater(workspace, failures + 1)
    }
  }

  /** Opens a proxy again after a while, unless its workspace has stopped by then: often that is why it closed. */
  #attachLater(workspace: Workspace, failures: number): void {
    const delayMs = RETRY_MS[Math.min(failures, RETRY_MS.length) - 1] ?? REOPEN_MS
    this.#options.clock.after(delayMs, () => {
      const isNeeded = !this.#isClosed && !this.#attachments.has(nameKey(workspace.name))
      if (isNeeded && this.#runs(workspace)) void this.#keepAttached(workspace, failures)
    })
  }

  #runs({ name, containerId }: Workspace): boolean {
    const now = this.#options.table.find(name)
    return now?.state.is === 'running' && now.containerId === containerId
  }

  async #open(workspace: Workspace, profileName: string): Promise<OpenProxy> {
    const { backends, clock, logger } = this.#options
    const { profiles, secrets, port: number } = this.#settings
    const { name, createdAt } = workspace
    const profile = profiles.get(profileName)
    const backend = backends.get(workspace.backend)
    if (profile === undefined || backend === undefined)
      throw fault(
        'BACKEND_ERROR',
        `egress profile "${profileName}" of workspace "${name}" is not configured; add it to egress.profiles`,
      )
    // Loaded only where profiles exist.
    const { EgressAuthority } = await import('./authority.ts')
    const identity = `${name} ${createdAt.toISOString()}`
    const authority = await EgressAuthority.derive(await this.#readSecret(), identity, clock)
    const proxy = new EgressProxy({
      profile,
      authority,
      secrets,
      upstreams: new UpstreamConnections(await this.#readAuthorities()),
      report: (entry) => this.#record(name, entry),
      clock,
      logger: logger.child({ workspace: name }),
    })
    let port: InsidePort | undefined
    const close = (): void => {
      port?.close()
      proxy.close()
    }
    try {
      port = await backend.listenPort(name, number, proxy.serve)
      await installAuthority(backend, name, authority.certificate)
      return { closed: port.closed, close }
    } catch (error) {
      close()
      throw error
    }
  }

  #record(workspace: string, entry: EgressEntry): void {
    const { audit } = this.#options
    this.logOf(workspace).add(entry)
    const { method, host, secret, outcome, reason = '' } = entry
    const subject = { workspace, address: '', target: `${method} ${host}`.trim() }
    if (secret !== undefined)
      audit.record({ ...subject, action: 'egress.credential', secret }, { outcome: 'ok' })
    if (outcome === 'refused') audit.refuse({ ...subject, action: 'egress.request' }, reason)
  }

  async #readAuthorities(): Promise<string | undefined> {
    const { caFile } = this.#settings
    return caFile === undefined ? undefined : readFile(caFile, 'utf8')
  }

  /** Reads the secret that all authorities are derived from; creates it at the first use. */
  #readSecret(): Promise<string> {
    this.#secret ??= openToken(join(this.#options.state.path, KEY_FILE)).catch((error: unknown) => {
      this.#secret = undefined
      throw fault('BACKEND_ERROR', `the key of the egress proxies cannot be used: ${messageOf(error)}`, error)
    })
    return this.#secret
  }
}
