import { isIP } from 'node:net'
import { messageOf } from '../lib/errors/message.ts'
import { defineFaults } from '../lib/errors/fault.ts'
import { type DisposalStack, openTogether } from '../lib/lifetime/disposal-stack.ts'
import { servePage } from '../lib/http/serve-page.ts'
import { ClientAddress } from '../lib/http/proxy/client-address.ts'
import type { Logger } from '../lib/log/logger.ts'
import { packageVersion } from '../lib/process/package.ts'
import { requireAddon } from '../lib/process/require-addon.ts'
import { type AlarmClock, systemClock } from '../lib/clock/clock.ts'
import { type LoadedSupervisorConfig, loadSupervisorConfig, type SupervisorConfig } from './config.ts'
import { createSupervisorHttp } from './faces/http/create-server.ts'
import type { SupervisorFace } from './faces/http/face.ts'
import { queryLogs } from './log/query-logs.ts'
import { UsageMeter } from './process/usage.ts'
import { RequestLog } from './proxy/captured-request.ts'
import { ProxyServer } from './proxy/proxy-server.ts'
import { Supervisor } from './supervisor.ts'
import { localUrl, writeServerRecord } from '../lib/discovery/server-record.ts'
import { openStateDir } from './state/state-dir.ts'
import { FollowedFiles } from '../lib/fs/followed-files.ts'
import { followSetting } from '../lib/config/follow-setting.ts'
import { followedSecret } from '../lib/http/token-rule.ts'
import { openToken, requireToken } from '../lib/fs/token-file.ts'

const listenFault = defineFaults({ CANNOT_LISTEN: 'conflict' })

/** Dependencies of a supervisor with its API and proxy. */
export interface SupervisorServerDeps {
  readonly logger: Logger
  /** Environment inherited by processes; default: that of this process. */
  readonly environment?: NodeJS.ProcessEnv
  readonly clock?: AlarmClock
  /** Platform that determines how programs are run; default: this machine's. */
  readonly platform?: NodeJS.Platform
  /** Called when all processes have exited, while their lines can still be read. */
  readonly onStopped?: () => void
  /** Reads the configuration for a reload; default: the same file. */
  readonly reloadConfig?: () => LoadedSupervisorConfig
}

/** A running supervisor. */
export interface RunningSupervisor {
  readonly port: number
  /** Port of the proxy; 0 if it is not enabled. */
  readonly proxyPort: number
  readonly supervisor: Supervisor
  /** The token that requests require now, if any. */
  readonly token: string | undefined
  readonly reload: SupervisorFace['reload']
  /** Resolves with the exit status when it should stop: by a request, or because its processes exited. */
  readonly askedToStop: Promise<number>
  /** Stops all processes, then the servers. */
  readonly stop: () => Promise<void>
  /** Kills all processes. */
  readonly kill: () => void
}

/** Creates a supervisor; it does nothing before `start`. */
export function create(
  config: SupervisorConfig,
  deps: SupervisorServerDeps,
): { readonly start: () => Promise<RunningSupervisor> } {
  return { start: () => openTogether((opened) => start(config, deps, opened)) }
}

async function start(
  config: SupervisorConfig,
  deps: SupervisorServerDeps,
  opened: DisposalStack,
): Promise<RunningSupervisor> {
  const { logger, clock = systemClock, environment = process.env, platform = process.platform } = deps
  requireAddon('the supervisor')
  const state = await openStateDir(config.stateDir, (message) => logger.warn(message))
  opened.defer(() => state.release())
  const supervisor = opened.use(new Supervisor(config, state, { logger, clock, environment, platform }))
  let stopping: Promise<void> | undefined
  let isAsked = false
  let isReady = false
  const asked = Promise.withResolvers<number>()
  void supervisor.over.then(asked.resolve)
  const reload = createReload(config, deps, supervisor)
  const { api } = config
  const token =
    api.token === 'always' || !isLoopback(api.host) ? await followedToken(api.tokenFile) : undefined
  const proxy = config.proxy.enabled ? createProxy(config, supervisor, clock) : undefined
  const face: SupervisorFace = {
    config,
    version: packageVersion(),
    startedMs: Date.now(),
    supervisor,
    usage: new UsageMeter(supervisor.table, clock),
    proxy,
    isReady: () => isReady,
    isStopping: () => stopping !== undefined || isAsked,
    shutDown() {
      isAsked = true
      asked.resolve(0)
    },
    reload,
  }
  const http = createSupervisorHttp(face, token && followedSecret(token), logger)
  if (token !== undefined)
    opened.defer(followSetting('api.token_file', token, { clock, logger }, http.cutStreams))
  servePage(http, new URL('faces/web/built/', import.meta.url))
  opened.defer(() => Promise.all([http.stop(), proxy?.server.stop()]))
  const port = await listening(http.listen({ host: api.host, port: api.port }), 'api', api)
  if (proxy !== undefined)
    proxy.address.port = await listening(
      proxy.server.listen(config.proxy.host, config.proxy.port),
      'proxy',
      config.proxy,
    )
  // Removed first, because another program may use the port once it is free.
  opened.defer(await recordServer(config, port, token !== undefined, logger))
  // Processes are touched only after listening succeeded, so that two supervisors with one configuration do not both start them.
  await supervisor.start()
  isReady = true
  return {
    port,
    proxyPort: proxy?.address.port ?? 0,
    supervisor,
    get token() {
      return token?.value
    },
    reload,
    askedToStop: asked.promise,
    stop: () =>
      (stopping ??= supervisor.stop(config.shutdownTimeoutMs).then(() => {
        deps.onStopped?.()
        return opened.close()
      })),
    kill: () => supervisor.table.list().forEach((each) => each.kill()),
  }
}

/** Opens the token file, which is created at the first start and may be replaced later. @throws TOKEN_FILE_UNUSABLE */
async function followedToken(path: string): Promise<FollowedFiles<string>> {
  await openToken(path)
  return FollowedFiles.open([path], () => requireToken(path))
}

/** Writes the server record. Returns a function that removes it. */
async function recordServer(
  { api, recordDir }: SupervisorConfig,
  port: number,
  requiresToken: boolean,
  logger: Logger,
): Promise<() => Promise<void>> {
  try {
    const tokenFile = requiresToken ? api.tokenFile : null
    return await writeServerRecord(recordDir, { url: localUrl(api.host, port), tokenFile })
  } catch (error) {
    logger.warn(
      `${recordDir} is not writable (${messageOf(error)}): commands find this supervisor only with --url`,
    )
    return () => Promise.resolve()
  }
}

function createReload(
  config: SupervisorConfig,
  { reloadConfig, environment = process.env }: SupervisorServerDeps,
  supervisor: Supervisor,
): SupervisorFace['reload'] {
  const load = reloadConfig ?? (() => loadSupervisorConfig(environment, { file: config.configFile }))
  return async () => {
    const { config: next, warnings } = load()
    const later = fixedPart(config) === fixedPart(next) ? [] : [LATER]
    return { ...(await supervisor.reload(next)), warnings: [...warnings, ...later] }
  }
}

const LATER = 'changes of api, log.ship, proxy and state_dir apply at the next start'

/** Returns the settings that a reload cannot change, as comparable text. */
function fixedPart({ api, proxy, stateDir, destinations }: SupervisorConfig): string {
  return JSON.stringify([api, proxy, stateDir, destinations])
}

function createProxy(config: SupervisorConfig, supervisor: Supervisor, clock: AlarmClock) {
  const requests = new RequestLog(config.proxy.keep)
  const server = new ProxyServer({
    table: supervisor.table,
    domains: config.proxy.domains,
    clients: new ClientAddress(config.proxy.trustedProxies),
    inProgress: supervisor.requestsInProgress,
    clock,
    timeoutMs: config.proxy.timeoutMs,
    holdMs: config.proxy.holdMs,
    maxHeld: config.proxy.holdRequests,
    onRequest: (request) => requests.add(request),
    lastLines: async (name, count) => {
      const { lines } = await queryLogs(supervisor.logs, { processes: [name], lines: count, isPlain: true })
      return lines.map(({ text }) => text)
    },
  })
  supervisor.onChange(() => server.update())
  return { requests, server, address: { host: config.proxy.host, port: config.proxy.port } }
}

async function listening(
  port: Promise<number>,
  what: string,
  at: { readonly host: string; readonly port: number },
): Promise<number> {
  try {
    return await port
  } catch (error) {
    throw listenFault(
      'CANNOT_LISTEN',
      `the ${what} cannot listen on ${at.host} port ${at.port}: ${messageOf(error)}; set ${what}.port to another`,
      error,
    )
  }
}

/** Whether an address is reachable only from this machine. Of names, only localhost counts (threat V1). */
function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}
