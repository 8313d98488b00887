import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { SchemaNode } from '../lib/config/check.ts'
import { configFault } from '../lib/config/check.ts'
import { loadConfig } from '../lib/config/load.ts'
import { type FileSettings, fileSchema } from './config-schema.ts'
import { isPasswordHash } from './login/password.ts'
import type { User } from './login/user.ts'
import type { SessionPlace } from './session/open-session-store.ts'

/** Every key of the content server's config file. */
export const contentSchema = fileSchema as SchemaNode

/** The store of the objects. */
export type StoreConfig =
  | { readonly type: 'fs'; readonly root: string }
  | {
      readonly type: 's3'
      readonly bucket: string
      /** Empty, or ending with a slash. */
      readonly prefix: string
      readonly endpoint: string | undefined
      readonly region: string
      readonly isPathStyle: boolean
      readonly timeoutMs: number
    }

/** The content server's effective configuration. */
export interface ContentConfig {
  readonly title: string
  readonly http: {
    readonly host: string
    readonly port: number
    readonly allowedHosts: readonly string[]
    readonly trustedProxies: readonly string[]
    readonly publicUrl: string | undefined
    readonly repoDomain: string | undefined
    readonly workers: number
    readonly isMetricsOpen: boolean
  }
  readonly store: StoreConfig
  readonly users: readonly User[]
  readonly session: {
    readonly maxAgeMs: number
    readonly isSecure: boolean
    readonly place: SessionPlace
  }
  readonly oidc: FileSettings['oidc']
  /** Lower case; undefined where readers are not named by a proxy. */
  readonly userHeader: string | undefined
  readonly cache: {
    readonly ttlMs: number
    readonly negativeTtlMs: number
    readonly maxBytes: number
    readonly maxObjectBytes: number
  }
  readonly searchBytes: number
  readonly log: FileSettings['log']
}

export interface LoadedContentConfig {
  readonly config: ContentConfig
  readonly settings: FileSettings
  readonly file: string | undefined
}

/** Reads the configuration: defaults, then one file, then the environment, then flags. @throws CONFIG_INVALID */
export function loadContentConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: {
    readonly file?: string | undefined
    readonly flags?: Readonly<Record<string, unknown>>
    readonly cwd?: string
  } = {},
): LoadedContentConfig {
  const { settings, file, source } = loadConfig<FileSettings>({
    program: 'content-server',
    fileVariable: 'CONTENT_CONFIG',
    environmentPrefix: 'CONTENT',
    schema: contentSchema,
    environment,
    file: given.file,
    flags: given.flags ?? {},
  })
  const base = file === undefined ? (given.cwd ?? process.cwd()) : dirname(resolve(file))
  const home = environment['HOME'] ?? homedir()
  const data = join(environment['XDG_DATA_HOME'] ?? join(home, '.local/share'), 'content-server')
  return { config: fromSettings(settings, source, base, data), settings, file }
}

function fromSettings(settings: FileSettings, source: string, base: string, data: string): ContentConfig {
  const { http, session, cache, oidc } = settings
  const wrong = (sentence: string) => configFault('CONFIG_INVALID', `${source}: ${sentence}`)
  const users = usersOf(settings, wrong)
  if (settings.header_auth !== undefined && http.trusted_proxies.length === 0)
    throw wrong('"header_auth" needs "http.trusted_proxies": anybody else could send the header as well')
  if (oidc !== undefined && !URL.canParse(oidc.issuer)) throw wrong('"oidc.issuer" must be a URL')
  if (http.public_url !== undefined && !URL.canParse(http.public_url))
    throw wrong('"http.public_url" must be a URL such as https://docs.example')
  return {
    title: settings.title,
    http: {
      host: http.host,
      port: http.port,
      allowedHosts: http.allowed_hosts,
      trustedProxies: http.trusted_proxies,
      publicUrl: http.public_url,
      repoDomain: http.repo_domain?.toLowerCase(),
      workers: http.workers,
      isMetricsOpen: http.open_metrics,
    },
    store: storeOf(settings, base, data, wrong),
    users,
    session: {
      maxAgeMs: session.max_age,
      isSecure: session.secure,
      place: sessionPlace(session, base, data, wrong),
    },
    oidc,
    userHeader: settings.header_auth?.header.toLowerCase(),
    cache: {
      ttlMs: cache.ttl,
      negativeTtlMs: cache.negative_ttl,
      maxBytes: cache.max_bytes,
      maxObjectBytes: Math.min(cache.max_object_bytes, cache.max_bytes),
    },
    searchBytes: settings.search.max_bytes,
    log: settings.log,
  }
}

type Wrong = (sentence: string) => Error

function usersOf({ users, password_hash: single }: FileSettings, wrong: Wrong): readonly User[] {
  if (users.length > 0 && single !== undefined)
    throw wrong('"users" and "password_hash" exclude each other; give each user a password_hash')
  const all = users.map(({ name, password_hash: passwordHash }) => ({ name, passwordHash }))
  if (single !== undefined) all.push({ name: '', passwordHash: single })
  for (const { name, passwordHash } of all) {
    const whose = name === '' ? '"password_hash"' : `the password_hash of user "${name}"`
    if (!isPasswordHash(passwordHash))
      throw wrong(`${whose} is no hash; make one with "content-server hash-password"`)
  }
  const twice = all.find(({ name }, at) => all.findIndex((other) => other.name === name) !== at)
  if (twice !== undefined) throw wrong(`user "${twice.name}" is there twice`)
  return all
}

function storeOf({ store }: FileSettings, base: string, data: string, wrong: Wrong): StoreConfig {
  if (store.type === 'fs')
    return { type: 'fs', root: store.root === undefined ? join(data, 'store') : resolve(base, store.root) }
  if (store.bucket === undefined) throw wrong('"store.bucket" is needed where "store.type" is s3')
  const prefix = (store.prefix ?? '').replace(/^\/+|\/+$/g, '')
  return {
    type: 's3',
    bucket: store.bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: store.endpoint,
    region: store.region,
    isPathStyle: store.force_path_style,
    timeoutMs: store.timeout,
  }
}

function sessionPlace(
  { store, file }: FileSettings['session'],
  base: string,
  data: string,
  wrong: Wrong,
): SessionPlace {
  if (store === 'file') return { file: file === undefined ? join(data, 'sessions.db') : resolve(base, file) }
  if (/^rediss?:\/\/./.test(store)) return { url: store }
  throw wrong('"session.store" must be file, or a URL redis://host:port')
}
