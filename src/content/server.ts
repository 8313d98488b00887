import { messageOf } from '../lib/errors/message.ts'
import type { HttpServer } from '../lib/http/server.ts'
import { configFault } from '../lib/config/check.ts'
import { type DisposalStack, openTogether } from '../lib/lifetime/disposal-stack.ts'
import type { Logger } from '../lib/log/logger.ts'
import { packageVersion } from '../lib/process/package.ts'
import { ObjectCache } from './cache/object-cache.ts'
import { type AlarmClock, systemClock } from '../lib/clock/clock.ts'
import { AccessRules } from './access/access-rules.ts'
import { ReaderGrants } from './access/reader-grants.ts'
import type { ContentConfig } from './config.ts'
import { fault } from './errors.ts'
import { Cookies } from './faces/http/cookies.ts'
import { createContentHttp } from './faces/http/create-server.ts'
import type { ContentFace } from './faces/http/face.ts'
import { RepoHosts } from './faces/http/repo-hosts.ts'
import { ClientAddress } from '../lib/http/proxy/client-address.ts'
import type { OpenIdLogin } from './login/openid.ts'
import { PasswordLogin } from './login/password-login.ts'
import { Throttle } from './login/throttle.ts'
import { MarkdownPages } from './markdown/markdown-pages.ts'
import { PageFinder } from './page/find-page.ts'
import { VersionPaths } from './page/version-path.ts'
import { VersionSwitcher } from './page/version-switcher.ts'
import { Publications } from './publication/publications.ts'
import { SiteObjects } from './publication/site-objects.ts'
import { hasManifest } from './publication/stored-manifest.ts'
import { ExpiredRemover } from './publish/remove-expired.ts'
import { ReadLog } from './reads/read-log.ts'
import { type ReadRecord, withVersion } from './reads/read-record.ts'
import { CachedMetas } from './repo/cached-metas.ts'
import { RepoList } from './repo/repo-list.ts'
import { SiteSearch } from './search/site-search.ts'
import { openSessionStore } from './session/open-session-store.ts'
import { LoginHandoff } from './session/handoff.ts'
import { ServiceTokens } from './session/service-tokens.ts'
import { Sessions } from './session/sessions.ts'
import { openStore } from './store/open-store.ts'
import type { Store } from './store/store.ts'

/** Dependencies of a server. */
export interface ContentDeps {
  readonly logger: Logger
  readonly clock?: AlarmClock
  /** Replaces the configured store. The caller closes it. */
  readonly store?: Store
  /** Called when a reader purged the cache, so that other processes purge theirs. */
  readonly onPurge?: () => void
}

/** A running content server. */
export interface RunningContent {
  readonly port: number
  /** Purges the cache. */
  readonly purge: () => void
  /** Stops accepting requests, waits for running ones, then closes its resources. */
  readonly stop: () => Promise<void>
}

/** Creates a content server; nothing happens before `start`. */
export function create(
  config: ContentConfig,
  deps: ContentDeps,
): { readonly start: () => Promise<RunningContent> } {
  return { start: () => openTogether((opened) => start(config, deps, opened)) }
}

async function start(
  config: ContentConfig,
  deps: ContentDeps,
  opened: DisposalStack,
): Promise<RunningContent> {
  const { logger, clock = systemClock } = deps
  checkLogin(config)
  const addresses = new ClientAddress(config.http.trustedProxies)
  const store = deps.store ?? opened.use(await openStore(config.store))
  const sessionStore = opened.use(await openSessionStore(config.session.location, clock))
  const cache = new ObjectCache(store, config.cache, clock)
  const publications = new Publications(store, config.cache, clock)
  const metas = new CachedMetas(cache, config.cache.ttlMs, clock)
  const objects = new SiteObjects(cache, publications, metas)
  const repos = new RepoList(store, clock, config.cache.ttlMs, (root) => hasManifest(store, root))
  const search = opened.use(
    new SiteSearch(store, objects, repos, clock, logger, {
      ...config.search,
      ttlMs: config.cache.ttlMs,
      storeId: JSON.stringify(config.store),
    }),
  )
  const passwords = new PasswordLogin(config.users, new Throttle(sessionStore))
  const rules = new AccessRules(config.access)
  const openId = config.oidc === undefined ? undefined : await openIdLogin(config.oidc, rules)
  const purge = (): void => {
    publications.purge()
    cache.purge()
    repos.purge()
    search.purge()
  }
  const sessions = new Sessions(
    sessionStore,
    clock,
    config.session.maxAgeMs,
    ({ user, proof }) => proof === openId?.proof || passwords.isProof(user, proof),
  )
  const versions = new VersionPaths(metas)
  const face: ContentFace = {
    config,
    version: packageVersion(),
    clock,
    reads: openReadLog(config, repos, logger, opened),
    cache,
    finder: new PageFinder(
      objects,
      repos,
      versions,
      config.versions.switcher ? new VersionSwitcher(config.cache.maxBytes / 8) : undefined,
    ),
    markdown: opened.use(new MarkdownPages(config.cache.maxBytes / 8, logger)),
    versions,
    repos,
    search,
    sessions,
    tokens: new ServiceTokens(sessionStore, clock),
    rules,
    grants: new ReaderGrants(rules, config.users, config.groupsSeparator),
    handOver: new LoginHandoff(sessionStore, sessions, clock),
    cookies: new Cookies(config),
    hosts: new RepoHosts(config.http),
    passwords,
    openId,
    addresses,
    audit: logger.child({ audit: true }, { level: logger.level === 'silent' ? 'silent' : 'info' }),
    purge() {
      purge()
      deps.onPurge?.()
    },
  }
  const http = createContentHttp(face, logger)
  opened.use(new ExpiredRemover(store, clock, logger, config.cache.ttlMs))
  opened.defer(() => http.stop())
  const port = await listening(config.http, http)
  return { port, purge, stop: () => opened.close() }
}

/** Opens the log of reads, which adds versions from the list of repositories. */
function openReadLog(
  { readLog }: ContentConfig,
  repos: RepoList,
  logger: Logger,
  opened: DisposalStack,
): ReadLog | undefined {
  if (readLog === undefined) return undefined
  let hasFailed = false
  const complete = async (records: readonly ReadRecord[]): Promise<readonly ReadRecord[]> => {
    try {
      const listed = await repos.read()
      hasFailed = false
      return records.map((record) => withVersion(record, listed))
    } catch (error) {
      if (!hasFailed) logger.warn({ err: error }, 'reads are logged without their versions')
      hasFailed = true
      return records
    }
  }
  return opened.use(new ReadLog(readLog, logger, complete))
}

async function listening({ host, port }: ContentConfig['http'], http: HttpServer): Promise<number> {
  try {
    return await http.listen({ host, port })
  } catch (error) {
    throw fault(
      'CANNOT_LISTEN',
      `cannot listen on ${host} port ${port}: ${messageOf(error)}; choose another http.port`,
      error,
    )
  }
}

/** Imports on demand the fifteen modules of OpenID login. */
async function openIdLogin(...given: ConstructorParameters<typeof OpenIdLogin>): Promise<OpenIdLogin> {
  const { OpenIdLogin: Login } = await import('./login/openid.ts')
  return new Login(...given)
}

/** Refuses to start a server without any way to log in. */
function checkLogin({ users, oidc, userHeader }: ContentConfig): void {
  if (users.length > 0 || oidc !== undefined || userHeader !== undefined) return
  throw configFault(
    'CONFIG_INVALID',
    'nobody could log in: set "password_hash", "users", "oidc" or "header_auth"; create a hash with "content-server hash-password"',
  )
}
