import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type LoadedConfig, loadConfig } from '../lib/config/load.ts'
import { supervisorSchema } from './config-schema.ts'
import { CONFIG_SOURCES, type ConfigPlace, findSupervisorConfig } from './config-file/find-config.ts'
import { readConfigFile } from './config-file/read-config-file.ts'
import { toSpecs } from './config-file/to-specs.ts'

/** The supervisor's effective configuration. */
export type SupervisorConfig = ReturnType<typeof resolveConfig>

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
  const loaded = loadConfig({
    ...CONFIG_SOURCES,
    environmentPrefix: 'SUPERVISOR',
    schema: supervisorSchema,
    environment,
    file: place.file,
    flags: given.flags ?? {},
    read: (path) => readConfigFile(path, environment, warnings, place.isFound),
  })
  const { settings, file } = loaded
  return { config: resolveConfig(loaded, environment, place), settings, file, warnings }
}

/** Fills in what depends on where the file is, and reads the processes. */
function resolveConfig(
  { decoded, file, source }: LoadedConfig<typeof supervisorSchema>,
  environment: Readonly<Record<string, string | undefined>>,
  { base, recordDir }: ConfigPlace,
) {
  const { api, proxy, stateDir } = decoded
  const home = environment['HOME'] ?? homedir()
  return {
    ...decoded,
    /** Undefined where there is none. */
    configFile: file,
    stateDir: stateDir === undefined ? recordDir : resolve(base, stateDir),
    /** The user's own directory in which clients find the running supervisor; `state_dir` of a file does not move it. */
    recordDir,
    api: {
      ...api,
      tokenFile:
        api.tokenFile === undefined ? join(home, '.supervisor', 'token') : resolve(base, api.tokenFile),
    },
    proxy: { ...proxy, domains: proxy.domains.map((domain) => domain.toLowerCase()) },
    processes: toSpecs(decoded, { file: source, base, environment }),
  }
}
