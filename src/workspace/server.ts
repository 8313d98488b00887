import { findPortHolder } from '../lib/process/port-holder.ts'
import { join } from 'node:path'
import { defineFaults } from '../lib/errors/fault.ts'
import { messageOf } from '../lib/errors/message.ts'
import { servePage } from '../lib/http/serve-page.ts'
import { type DisposalStack, openTogether } from '../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../lib/log/logger.ts'
import { ciphersRemedy, sshCiphers } from '../lib/ssh/ciphers.ts'
import { ActivityTable } from './activity/activity-table.ts'
import { startHousekeeping } from './assembly/start-housekeeping.ts'
import { openAudit } from './assembly/open-audit.ts'
import type { AuditLog } from './audit/audit-log.ts'
import type { Backend } from './backend/backend.ts'
import { PulledImages } from './backend/docker/images/pulled-images.ts'
import { configuredBackends } from './assembly/configured-backends.ts'
import { machineDirectories } from './assembly/configured-machines.ts'
import type { Bus } from './bus/bus.ts'
import type { BusCluster } from './bus/cluster/cluster.ts'
import { openBus } from './bus/open-bus.ts'
import type { WorkspaceConfig } from './config.ts'
import { dotfilesOf } from './assembly/dotfiles.ts'
import { exposureOf } from './assembly/exposure.ts'
import { localUrl } from './default-paths.ts'
import { openDiskMaintenance } from './assembly/open-disk-maintenance.ts'
import { createWalker, type Walker } from './disk/walker.ts'
import { createWorkspaceHttp, type FaceParts } from './faces/http/create-server.ts'
import { anyKey, listedKeys, readAuthorizedKeys } from './faces/ssh/authorized-keys.ts'
import { ConnectionServer } from './faces/ssh/connection-server.ts'
import { SshWorkerPool } from './faces/ssh/ssh-worker-pool.ts'
import {
  createWorkspaceResolver,
  type NameResolver,
  workspaceResolver,
} from './faces/ssh/workspace-resolver.ts'
import { type HostKey, loadHostKey } from './faces/ssh/host-key.ts'
import { type ConnectionHandler, SshServer } from './faces/ssh/server.ts'
import { observeLogins } from './faces/ssh/observe-logins.ts'
import { EgressProxies } from './egress/egress-proxies.ts'
import { harden } from './harden.ts'
import { openImageLibrary } from './assembly/open-library.ts'
import { openSecurity } from './assembly/open-security.ts'
import { CreationMarks } from './lifecycle/creation-marks.ts'
import { Checkpointer } from './lifecycle/checkpointer.ts'
import { Forker } from './lifecycle/forker.ts'
import { Renamer } from './lifecycle/renamer.ts'
import { SettingsEditor } from './lifecycle/settings-editor.ts'
import { SettingsStore } from './settings/settings-store.ts'
import { Entrance } from './lifecycle/entrance.ts'
import { Lifecycle } from './lifecycle/lifecycle.ts'
import { WorkspaceTable } from './lifecycle/table.ts'
import { reachOf } from './network/reach.ts'
import { ProcessTable } from './program/process-table.ts'
import { AccessControl } from './team/access-control.ts'
import type { DeviceLogin } from './team/device-login.ts'
import { OpenUses } from './team/open-uses.ts'
import { Team } from './team/team.ts'
import { TeamFile } from './team/team-file.ts'
import { TicketTable } from './tickets/ticket-table.ts'
import { Timeline } from './timeline/timeline.ts'
import { TimelineFile } from './timeline/timeline-file.ts'
import { SessionDirectory } from './session/session-directory.ts'
import { SnapshotLibrary } from './snapshot/snapshot-library.ts'
import { EXTENTS_FILE, mountedSocketRoot, openStateDir, type StateDir, TIMELINE_FILE } from './state-dir.ts'
import { UsageSampler } from './usage/usage-sampler.ts'
import { packageVersion } from '../lib/process/package.ts'
import { writeServerRecord } from '../lib/discovery/server-record.ts'
import type { BackendName } from './backend-name.ts'
import { type AlarmClock, systemClock } from '../lib/clock/clock.ts'

const startFault = defineFaults({ ADDRESS_UNUSABLE: 'conflict' })

/** Dependencies of a workspace server. */
export interface WorkspaceDeps {
  readonly logger: Logger
  /** Backends that replace the configured ones. */
  readonly backends?: readonly Backend[]
  /** Directory of the guest programs, overriding the built ones. */
  readonly guestDir?: string | undefined
  readonly clock?: AlarmClock
  /** Measures trees, instead of a separate process. */
  readonly walker?: Walker
}

/** A running workspace server. */
export interface WorkspaceServer {
  readonly httpPort: number
  readonly sshPort: number
  readonly sshFingerprint: string
  readonly availableBackends: () => readonly BackendName[]
  /** Stops accepting work, rolls back creations and releases everything within 10 s. */
  readonly stop: () => Promise<void>
}

/** Creates a workspace server as a library; nothing is touched before `start`. */
export function create(
  config: WorkspaceConfig,
  deps: WorkspaceDeps,
): { readonly start: () => Promise<WorkspaceServer> } {
  return { start: () => openTogether((opened) => start(config, deps, opened)) }
}

/** Values that all startup steps need. */
interface Foundation {
  readonly config: WorkspaceConfig
  readonly given: readonly Backend[] | undefined
  readonly state: StateDir
  readonly audit: AuditLog
  readonly logger: Logger
  readonly clock: AlarmClock
  readonly opened: DisposalStack
  /** Undefined on a server without users. */
  readonly team: Team | undefined
}

/** The workspaces, and the subjects that act on them. */
interface Workspaces {
  readonly backends: ReadonlyMap<BackendName, Backend>
  /** Undefined when the engine's images do not belong to this server. */
  readonly pulled: PulledImages | undefined
  readonly table: WorkspaceTable
  readonly access: AccessControl
  readonly uses: OpenUses
  readonly timeline: Timeline
  readonly activity: ActivityTable
  readonly snapshots: SnapshotLibrary
  readonly lifecycle: Lifecycle
  readonly egress: EgressProxies
  readonly editor: SettingsEditor
  readonly renamer: Renamer
  readonly forker: Forker
  readonly checkpointer: Checkpointer
  readonly entrance: Entrance
  readonly bus: Bus
  readonly cluster: BusCluster
}

async function start(
  config: WorkspaceConfig,
  { logger, backends: given, guestDir, clock = systemClock, walker: givenWalker }: WorkspaceDeps,
  opened: DisposalStack,
): Promise<WorkspaceServer> {
  const state = await openStateDir(config.stateDir, logger)
  opened.defer(state.release)
  await harden(config)
  const audit = await openAudit(config, { logger, clock, opened })
  const hostKey = await openHostKey(config, logger)
  const walker = opened.use(givenWalker ?? createWalker(logger, join(state.path, EXTENTS_FILE)))
  const team = config.team.enabled ? new Team(await TeamFile.open(state.path), clock) : undefined
  const foundation = { config, given, state, audit, logger, clock, opened, team }

  const { pulled, ...workspaces } = await openWorkspaces(foundation)
  const { backends, table, activity, snapshots, lifecycle } = workspaces
  const availableBackends = (): readonly BackendName[] =>
    [...backends.values()].filter((backend) => backend.isAvailable).map((backend) => backend.name)
  const images = await openImageLibrary(config, { pulled, guestDir, logger, opened })
  const ports = { http: config.http.port, ssh: await listenSsh(foundation, workspaces, hostKey) }
  const maintenance = await openDiskMaintenance({
    config,
    hasRoots: given === undefined,
    table,
    lifecycle,
    snapshots,
    backends: [...backends.values()],
    images,
    walker,
    audit,
    logger,
    clock,
    opened,
  })
  const sessions = new SessionDirectory(table, backends, logger)
  const processes = opened.use(new ProcessTable(table, clock))
  ports.http = await listenHttp(foundation, {
    config,
    version: packageVersion(),
    hostKey: hostKey.publicKey,
    ports,
    availableBackends,
    ...workspaces,
    audit,
    ...maintenance,
    sessions,
    processes,
    team,
    login: await openLogin(foundation),
    clock,
    tickets: new TicketTable(clock),
    usage: new UsageSampler(table, backends),
    images,
  })
  await startHousekeeping(config, {
    ...workspaces,
    activity,
    sessions,
    processes,
    audit,
    logger,
    clock,
    opened,
  })
  // Stopped first: requests that wait for a creation or an image keep the HTTP server open.
  opened.defer(async () => {
    snapshots.close()
    workspaces.checkpointer.close()
    await Promise.all([lifecycle.endCreations(), images.close()])
  })
  return {
    httpPort: ports.http,
    sshPort: ports.ssh,
    sshFingerprint: hostKey.fingerprint,
    availableBackends,
    stop: () => opened.close(),
  }
}

async function openHostKey({ ssh }: WorkspaceConfig, logger: Logger): Promise<HostKey> {
  const hostKey = await loadHostKey(ssh.hostKey)
  logger.info({ fingerprint: hostKey.fingerprint }, 'SSH host key')
  if (sshCiphers() !== 'compiled') logger.warn(`SSH ciphers run in slower JavaScript: ${ciphersRemedy()}`)
  return hostKey
}

/** Imports on demand the modules of OpenID login. */
async function openLogin({ config, team, clock, opened }: Foundation): Promise<DeviceLogin | undefined> {
  const { oidc, loginLifetimeMs } = config.team
  if (oidc === undefined || team === undefined) return undefined
  const { DeviceLogin: Login } = await import('./team/device-login.ts')
  return opened.use(await Login.open(oidc, loginLifetimeMs, { team, clock }))
}

async function openWorkspaces(foundation: Foundation): Promise<Workspaces> {
  const { config, given, state, logger, clock, opened, team } = foundation
  const pulled = new PulledImages(join(state.path, 'docker-images.json'))
  const all = given ?? (await configuredBackends(config, state, pulled, logger))
  const backends = new Map(all.map((backend) => [backend.name, backend]))
  const settings = await SettingsStore.open(state.path)
  const table = new WorkspaceTable((workspace) => settings.complete(workspace))
  const activity = new ActivityTable(table, clock)
  const uses = opened.use(new OpenUses())
  if (team !== undefined) table.onChange(uses.observe)
  team?.onChange(uses.review)
  const snapshots = new SnapshotLibrary(backends.values(), clock)
  const timelineFile = await TimelineFile.open(join(state.path, TIMELINE_FILE), logger)
  const timeline = new Timeline(clock, opened.use(timelineFile))
  const egress = opened.use(new EgressProxies(config.egress, { ...foundation, table, backends, timeline }))
  const lifecycle = new Lifecycle({
    table,
    egress,
    timeline,
    backends,
    snapshots,
    marks: new CreationMarks(state.path),
    settings,
    defaults: {
      backend: config.defaultBackend,
      image: config.defaultImage,
      imageAliases: config.imageAliases,
      templates: config.templates,
      dotfiles: dotfilesOf(config),
      forbiddenDirs: [state.path],
      reachOf: (backend) => reachOf(backend, config),
    },
    logger,
    clock,
  })
  const entrance = new Entrance({ table, backends, lifecycle, wakesByDefault: config.idle.wake })
  const checkpointer = new Checkpointer({ table, backends, lifecycle, timeline, clock })
  const exposure = exposureOf(config)
  if (exposure !== undefined) logger.warn(exposure)
  const { bus, cluster } = openBus(config, backends.values(), { logger, clock })
  opened.defer(() => cluster.stop())
  await lifecycle.open()
  opened.use(lifecycle)
  return {
    backends,
    pulled: given === undefined ? pulled : undefined,
    table,
    access: new AccessControl(team, table, config.team.quota),
    uses,
    timeline,
    activity,
    snapshots,
    lifecycle,
    egress,
    editor: new SettingsEditor({ table, lifecycle, settings, timeline, clock }),
    renamer: new Renamer({ table, backends, lifecycle, settings, timeline }),
    checkpointer,
    forker: new Forker({ table, backends, lifecycle, checkpointer, timeline, clock, logger }),
    entrance,
    bus,
    cluster,
  }
}

async function listenSsh(
  foundation: Foundation,
  { table, access, uses, activity, backends, entrance }: Omit<Workspaces, 'pulled'>,
  hostKey: HostKey,
): Promise<number> {
  const { config, audit, logger, opened } = foundation
  const ssh = new SshServer(
    await connectionHandler(foundation, {
      backends,
      hostKey,
      resolve: workspaceResolver(table, entrance, access),
    }),
    observeLogins({ audit, access, uses, table, activity }),
    logger,
  )
  // Deferred before it listens: the worker processes already exist and must not outlive a failed start.
  opened.defer(() => ssh.stop())
  return listening('ssh', config.ssh, () => ssh.listen(config.ssh))
}

/** Starts listening, and writes the record by which clients on this machine find the server. */
async function listenHttp(
  { config, state, logger, clock, opened }: Foundation,
  face: FaceParts,
): Promise<number> {
  const security = await openSecurity(config)
  const http = createWorkspaceHttp(face, security, logger)
  servePage(http, new URL('faces/web/built/', import.meta.url))
  opened.defer(() => http.stop())
  opened.defer(
    security.follow({ clock, logger }, { token: face.uses.review, certificate: http.replaceCertificate }),
  )
  const at = config.http.socket === undefined ? config.http : { path: config.http.socket }
  const port = await listening('http', at, () => http.listen(at))
  const { tokenFile = null } = config.http
  opened.defer(await writeServerRecord(state.path, { url: localUrl({ ...config.http, port }), tokenFile }))
  return port
}

/**
 * Creates the handler of SSH connections. Worker processes reach workspaces through their own backends;
 * backends passed to `create` exist only in this process, which then serves SSH itself.
 */
async function connectionHandler(
  { config, state, given, logger }: Foundation,
  {
    backends,
    hostKey: { privateKey },
    resolve,
  }: Pick<Workspaces, 'backends'> & { readonly hostKey: HostKey; readonly resolve: NameResolver },
): Promise<ConnectionHandler> {
  const { ssh, docker, log } = config
  const { authorizedKeys } = ssh
  // An unusable file or line is reported at startup rather than at the first login.
  const ignored = authorizedKeys === undefined ? [] : (await readAuthorizedKeys(authorizedKeys)).ignored
  for (const { message } of ignored) logger.warn(`ssh.authorized_keys: ${message}`)
  const deniedPorts = config.tunnel.denyPorts
  if (ssh.processes > 0 && given === undefined) {
    const { path, serverId } = state
    const shared = { privateKey, authorizedKeys, deniedPorts, logLevel: log.level, docker }
    const settings = {
      ...shared,
      serverId,
      mountedSocketDirs: mountedSocketRoot(path),
      machines: machineDirectories(config),
      kubernetes: config.enabledBackends.includes('kubernetes') ? config.kubernetes : undefined,
    }
    return new SshWorkerPool(ssh.processes, settings, resolve, logger)
  }
  const keyRule = authorizedKeys === undefined ? anyKey : listedKeys(authorizedKeys)
  return new ConnectionServer({
    privateKey,
    keyRule,
    resolver: createWorkspaceResolver(resolve, backends),
    deniedPorts,
    logger,
  })
}

async function listening(
  face: 'http' | 'ssh',
  at: { readonly path: string } | { readonly host: string; readonly port: number },
  listen: () => Promise<number>,
): Promise<number> {
  try {
    return await listen()
  } catch (error) {
    const where = 'path' in at ? at.path : `${at.host}:${at.port}`
    const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
    const holder = isTaken && 'port' in at ? findPortHolder(at.port)?.process : undefined
    const user =
      holder === undefined
        ? 'the program that uses it'
        : `process ${holder.pid}, which uses it (${holder.command}),`
    const remedy = `stop ${user} or set ${face}.${'path' in at ? 'socket' : 'port'}`
    throw startFault(
      'ADDRESS_UNUSABLE',
      `the ${face.toUpperCase()} server cannot listen on ${where} (${messageOf(error)}); ${remedy}`,
      error,
    )
  }
}
