import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import type { SchemaNode } from '../lib/config/check.ts'
import { type LoadedConfig, loadConfig } from '../lib/config/load.ts'
import type { LOG_FORMATS, LOG_LEVELS } from '../lib/log/levels.ts'
import { type FileSettings, fileSchema } from './config-schema.ts'
import { CONFIG_SOURCES, type ConfigPlace, findSupervisorConfig } from './config-file/find-config.ts'
import { readConfigFile } from './config-file/read-config-file.ts'
import { toSpecs } from './config-file/to-specs.ts'
import type { ProcessSpec } from './process-spec.ts'

/** Every key of the supervisor's config file. */
export const supervisorSchema = fileSchema as SchemaNode

/** The supervisor's effective configuration. */
export interface SupervisorConfig {
  /** Undefined where there is none. */
  readonly configFile: string | undefined
  readonly stateDir: string
  /** The user's own directory in which clients find the running supervisor; `state_dir` of a file does not move it. */
  readonly recordDir: string
  readonly api: {
    readonly host: string
    readonly port: number
    readonly allowedHosts: readonly string[]
    readonly token: 'auto' | 'always'
    readonly tokenFile: string
    readonly showsEnv: boolean
  }
  readonly log: { readonly level: (typeof LOG_LEVELS)[number]; readonly format: (typeof LOG_FORMATS)[number] }
  readonly proxy: {
    readonly isEnabled: boolean
    readonly host: string
    readonly port: number
    readonly domains: readonly string[]
    readonly keep: number
    readonly timeoutMs: number
  }
  readonly shutdownTimeoutMs: number
  readonly processes: readonly ProcessSpec[]
}

export interface LoadedSupervisorConfig {
  readonly config: SupervisorConfig
  readonly settings: unknown
  readonly file: string | undefined
  /** What the file asks for and is not done. */
  readonly warnings: readonly string[]
}

/** Reads the configuration: defaults, then one file, then the environment, then flags. @throws CONFIG_INVALID */
export function loadSupervisorConfig(
  environment: Readonly<Record<string, string | undefined>>,
  given: {
    readonly file?: string | undefined
    readonly flags?: Readonly<Record<string, unknown>>
    readonly cwd?: string
  } = {},
): LoadedSupervisorConfig {
  const place = findSupervisorConfig(environment, given)
  const warnings: string[] = []
  const loaded = loadConfig<FileSettings>({
    ...CONFIG_SOURCES,
    environmentPrefix: 'SUPERVISOR',
    schema: supervisorSchema,
    environment,
    file: place.file,
    flags: given.flags ?? {},
    read: (path) => readConfigFile(path, environment, warnings, place.isFound),
  })
  const { settings, file } = loaded
  return { config: fromSettings(loaded, environment, place), settings, file, warnings }
}

function fromSettings(
  { settings, file, source }: LoadedConfig<FileSettings>,
  environment: Readonly<Record<string, string | undefined>>,
  { base, recordDir }: ConfigPlace,
): SupervisorConfig {
  const { api, log, proxy } = settings
  const home = environment['HOME'] ?? homedir()
  return {
    configFile: file,
    stateDir: settings.state_dir === undefined ? recordDir : resolve(base, settings.state_dir),
    recordDir,
    api: {
      host: api.host,
      port: api.port,
      allowedHosts: api.allowed_hosts,
      token: api.token,
      tokenFile:
        api.token_file === undefined ? join(home, '.supervisor', 'token') : resolve(base, api.token_file),
      showsEnv: api.show_env,
    },
    log: { level: log.level, format: log.format },
    proxy: {
      isEnabled: proxy.enabled,
      host: proxy.host,
      port: proxy.port,
      domains: proxy.domains.map((domain) => domain.toLowerCase()),
      keep: proxy.keep,
      timeoutMs: proxy.timeout,
    },
    shutdownTimeoutMs: settings.shutdown_timeout,
    processes: toSpecs(settings, { file: source, base, environment }),
  }
}
