import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { configFault } from '../lib/config/check.ts'
import { nearest } from '../lib/config/nearest.ts'
import { type LoadedConfig, loadConfig } from '../lib/config/load.ts'
import { networksMistake } from '../lib/http/proxy/client-address.ts'
import { supervisorSchema } from './config-schema.ts'
import { CONFIG_SOURCES, type ConfigPlace, findSupervisorConfig } from './config-file/find-config.ts'
import { readConfigFile } from './config-file/read-config-file.ts'
import { toDestinations } from './config-file/to-destinations.ts'
import { toHooks } from './config-file/to-hooks.ts'
import { toSpecs } from './config-file/to-specs.ts'
import { groupsOf, missingGroup } from './process/groups.ts'
import type { ProcessSpec } from './process-spec.ts'

/** The supervisor's effective configuration. */
export type SupervisorConfig = ReturnType<typeof resolveConfig>

/** A loaded configuration and its source. */
export interface LoadedSupervisorConfig {
  readonly config: SupervisorConfig
  readonly settings: unknown
  readonly file: string | undefined
  /** Unsupported requests of the file. */
  readonly warnings: readonly string[]
}

/** Loads the configuration: defaults, then one file, then the environment, then flags. @throws CONFIG_INVALID when it is not valid */
export function loadSupervisorConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: {
    readonly file?: string | undefined
    readonly flags?: Readonly<Record<string, unknown>>
    readonly cwd?: string
    /** Numbers of replicas by process, which override the file. */
    readonly scale?: Readonly<Record<string, number>> | undefined
    /** Groups whose processes start with the supervisor; default: all. */
    readonly groups?: readonly string[] | undefined
  } = {},
): LoadedSupervisorConfig {
  const place = findSupervisorConfig(environment, given)
  const warnings: string[] = []
  const loaded = loadConfig({
    ...CONFIG_SOURCES,
    environmentPrefix: 'SUPERVISOR',
    schema: supervisorSchema,
    environment,
    file: place.file,
    flags: given.flags ?? {},
    read: (path) => scaled(readConfigFile(path, environment, warnings, place.isFound), given.scale ?? {}),
  })
  const { settings, file } = loaded
  const config = resolveConfig(loaded, environment, place)
  const processes = given.groups === undefined ? config.processes : onlyGroups(config.processes, given.groups)
  if (config.proxy.enabled && processes.length > 0 && processes.every(({ proxy }) => proxy === undefined))
    warnings.push(NO_SUBDOMAIN)
  return { config: { ...config, processes }, settings, file, warnings }
}

const NO_SUBDOMAIN =
  'proxy.enabled is true, but no process has a subdomain, so the proxy answers every request with 404; give a process of a supervisor.yaml a "proxy" section with its port (a process-compose file cannot have one)'

/** Leaves processes outside some groups down until they are started by hand or needed. @throws CONFIG_INVALID for an unknown group */
function onlyGroups(specs: readonly ProcessSpec[], groups: readonly string[]): readonly ProcessSpec[] {
  const known = groupsOf(specs)
  for (const group of groups)
    if (!known.includes(group)) throw configFault('CONFIG_INVALID', missingGroup(group, known))
  return specs.map((spec) =>
    spec.groups.some((group) => groups.includes(group))
      ? spec
      : { ...spec, autostart: false, schedule: undefined },
  )
}

/** Overrides numbers of replicas. @throws CONFIG_INVALID for a process that is not in the file */
function scaled(
  content: Readonly<Record<string, unknown>>,
  scale: Readonly<Record<string, number>>,
): Readonly<Record<string, unknown>> {
  const { processes } = content
  // The schema later reports a value that is not a map.
  if (typeof processes !== 'object' || processes === null) return content
  const changed = Object.entries(scale).map(([name, replicas]) => {
    const one: unknown = Object.getOwnPropertyDescriptor(processes, name)?.value
    if (one === undefined) {
      const meant = nearest(name, Object.keys(processes))
      throw configFault(
        'CONFIG_INVALID',
        `process "${name}" does not exist${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
      )
    }
    return [name, typeof one === 'object' ? { ...one, replicas } : one] as const
  })
  return { ...content, processes: { ...processes, ...Object.fromEntries(changed) } }
}

/** Resolves paths and reads the processes. */
function resolveConfig(
  { decoded, file, source }: LoadedConfig<typeof supervisorSchema>,
  environment: Readonly<Record<string, string | undefined>>,
  { base, recordDir }: ConfigPlace,
) {
  const { api, proxy, stateDir } = decoded
  const home = environment['HOME'] ?? homedir()
  const mistake = networksMistake('proxy.trusted_proxies', proxy.trustedProxies)
  if (mistake !== undefined) throw configFault('CONFIG_INVALID', mistake)
  return {
    ...decoded,
    /** Path of the file; undefined if there is none. */
    configFile: file,
    stateDir: stateDir === undefined ? recordDir : resolve(base, stateDir),
    /** The user's own directory in which clients find the running supervisor; independent of `state_dir`. */
    recordDir,
    api: {
      ...api,
      tokenFile:
        api.tokenFile === undefined ? join(home, '.supervisor', 'token') : resolve(base, api.tokenFile),
    },
    proxy: { ...proxy, domains: proxy.domains.map((domain) => domain.toLowerCase()) },
    processes: toSpecs(decoded, { file: source, base, environment }),
    hooks: toHooks(decoded, { file: source, base, environment }),
    destinations: toDestinations(decoded, { file: source, base, environment }),
  }
}
