import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { configFault } from '../lib/config/check.ts'
import { loadConfig } from '../lib/config/load.ts'
import { checkAccess } from './access/check-access.ts'
import { checkAddresses } from './check-addresses.ts'
import { type Settings, contentSchema } from './config-schema.ts'
import { isPasswordHash } from './login/password.ts'
import type { User } from './login/user.ts'
import type { OwnPath } from './own-path.ts'
import type { SessionLocation } from './session/open-session-store.ts'

/** The store of the objects. */
export type StoreConfig =
  | { readonly type: 'fs'; readonly root: string }
  | {
      readonly type: 's3'
      readonly bucket: string
      /** Empty, or ends with a slash. */
      readonly prefix: string
      readonly endpoint: string | undefined
      readonly region: string
      readonly isPathStyle: boolean
      /** Whether the service supports them. */
      readonly hasConditionalWrites: boolean
      readonly timeoutMs: number
    }

/** The content server's effective configuration. */
export type ContentConfig = ReturnType<typeof resolveConfig>

/** A configuration with its settings and file. */
export interface LoadedContentConfig {
  readonly config: ContentConfig
  readonly settings: unknown
  readonly file: string | undefined
}

/**
 * Reads the configuration: defaults, then one file, then the environment, then flags.
 *
 * @throws CONFIG_INVALID when any of them is invalid
 */
export function loadContentConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: {
    readonly file?: string | undefined
    readonly flags?: Readonly<Record<string, unknown>>
    readonly cwd?: string
  } = {},
): LoadedContentConfig {
  const { settings, decoded, file, source } = loadConfig({
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
  return { config: resolveConfig(decoded, source, base, data), settings, file }
}

/**
 * Returns the files and folders that a server with a configuration, and its command line, use. Its store knows its
 * own folders.
 */
export function ownPaths(
  { config: { session, readLog, search, hashDir }, file }: LoadedContentConfig,
  environment: Readonly<Record<string, string | undefined>>,
): readonly OwnPath[] {
  const named: readonly (readonly [use: string, path: string | undefined])[] = [
    ['configuration', file],
    ['session.file', 'file' in session.location ? session.location.file : undefined],
    ['reads.file', readLog?.file],
    ['CONTENT_SERVER_TOKEN_FILE', environment['CONTENT_SERVER_TOKEN_FILE']],
  ]
  return [
    ...named.flatMap(([use, path]) =>
      path === undefined || path === '' ? [] : [{ use, path: resolve(path) }],
    ),
    { use: 'search.dir', path: search.dir, isShared: true },
    { use: 'cache of hashes', path: hashDir },
  ]
}

/**
 * Checks constraints that a schema cannot express, and fills in settings that depend on others or on the
 * location of the file.
 */
function resolveConfig(settings: Settings, source: string, base: string, data: string) {
  const { http, session, cache, search, oidc, headerAuth, reads } = settings
  const wrong = (sentence: string) => configFault('CONFIG_INVALID', `${source}: ${sentence}`)
  const users = usersOf(settings, wrong)
  // A configuration for publishing has no logins.
  const hasLogin = users.length > 0 || oidc !== undefined || headerAuth !== undefined
  const hasOnlyUsers = hasLogin && oidc === undefined && headerAuth === undefined
  const mistake = checkAccess(settings.access.rules, {
    users: hasOnlyUsers ? users.map(({ name }) => name) : undefined,
    hasGroups:
      !hasLogin ||
      users.some(({ groups = [] }) => groups.length > 0) ||
      oidc?.groupsClaim !== undefined ||
      headerAuth?.groupsHeader !== undefined,
  })
  if (mistake !== undefined) throw wrong(mistake)
  if (headerAuth !== undefined && http.trustedProxies.length === 0)
    throw wrong('"header_auth" requires "http.trusted_proxies"; otherwise any client could send the header')
  if (oidc !== undefined && !oidc.scope.split(' ').includes('openid'))
    throw wrong('"oidc.scope" must include openid')
  const unusable = checkAddresses(settings)
  if (unusable !== undefined) throw wrong(unusable)
  return {
    ...settings,
    http: { ...http, repoDomain: http.repoDomain?.toLowerCase() },
    store: storeOf(settings, base, data, wrong),
    users,
    session: { ...session, location: sessionLocation(session, base, data, wrong) },
    /** Undefined if reads are not logged. */
    readLog: reads.file === undefined ? undefined : { ...reads, file: resolve(base, reads.file) },
    /** In lower case; undefined if no proxy names the readers. */
    userHeader: headerAuth?.header.toLowerCase(),
    /** In lower case; undefined if no proxy reports groups. */
    groupsHeader: headerAuth?.groupsHeader?.toLowerCase(),
    groupsSeparator: headerAuth?.groupsSeparator ?? ',',
    search: { ...search, dir: search.dir === undefined ? join(data, 'search') : resolve(base, search.dir) },
    /** Hashes of published files, a cache. */
    hashDir: join(data, 'hashes'),
    cache: { ...cache, maxObjectBytes: Math.min(cache.maxObjectBytes, cache.maxBytes) },
  }
}

type Wrong = (sentence: string) => Error

function usersOf({ users, passwordHash: single }: Settings, wrong: Wrong): readonly User[] {
  if (users.length > 0 && single !== undefined)
    throw wrong('"users" and "password_hash" are mutually exclusive; give each user a password_hash')
  const all: User[] = [...users]
  if (single !== undefined) all.push({ name: '', passwordHash: single })
  for (const { name, passwordHash } of all) {
    const whose = name === '' ? '"password_hash"' : `the password_hash of user "${name}"`
    if (!isPasswordHash(passwordHash))
      throw wrong(`${whose} is not a password hash; create one with "content-server hash-password"`)
  }
  const twice = all.find(({ name }, at) => all.findIndex((other) => other.name === name) !== at)
  if (twice !== undefined) throw wrong(`user "${twice.name}" is defined twice`)
  return all
}

function storeOf({ store }: Settings, base: string, data: string, wrong: Wrong): StoreConfig {
  if (store.type === 'fs' && store.bucket !== undefined)
    throw wrong('"store.bucket" is used only if "store.type" is s3; set it, or remove the bucket')
  if (store.type === 'fs')
    return { type: 'fs', root: store.root === undefined ? join(data, 'store') : resolve(base, store.root) }
  if (store.bucket === undefined) throw wrong('"store.bucket" is required when "store.type" is s3')
  const prefix = (store.prefix ?? '').replace(/^\/+|\/+$/g, '')
  return {
    type: 's3',
    bucket: store.bucket,
    prefix: prefix === '' ? '' : `${prefix}/`,
    endpoint: store.endpoint,
    region: store.region,
    isPathStyle: store.forcePathStyle,
    hasConditionalWrites: store.conditionalWrites,
    timeoutMs: store.timeoutMs,
  }
}

function sessionLocation(
  { store, file }: Settings['session'],
  base: string,
  data: string,
  wrong: Wrong,
): SessionLocation {
  if (store === 'file') return { file: file === undefined ? join(data, 'sessions.db') : resolve(base, file) }
  if (/^rediss?:\/\/./.test(store)) return { url: store }
  throw wrong('"session.store" must be file, or a URL redis://host:port')
}
