import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { configFault } from '../../../lib/config/check.ts'
import { parseYaml } from '../../../lib/config/load.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import { complaint, fits } from '../../../lib/schema/parse-json.ts'
import { readDotEnv } from '../dot-env.ts'
import { expandVariables } from './expand.ts'
import { supervisorSchema } from '../../config-schema.ts'
import { type Project, projectKeys, projectSchema } from './schema.ts'
import { fromProcessCompose, variablesOf } from './translate.ts'

type Group = Readonly<Record<string, unknown>>

/** Environment and reader of a process-compose file. */
export interface ComposeSources {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Reads a file with the same checks as the first one. */
  readonly read: (file: string) => string
  readonly warnings: string[]
  /** Whether an override file next to it applies: only if the file was not named explicitly. */
  readonly isFound: boolean
}

/**
 * Whether a YAML file is a process-compose file: its processes have `command`, and nothing has a key that only a
 * supervisor.yaml has.
 */
export function isProcessCompose(content: Group): boolean {
  const processes = isGroup(content['processes']) ? Object.values(content['processes']) : []
  const isOurs = Object.keys(content).some(
    (key) => Object.hasOwn(supervisorSchema.properties, key) && !Object.hasOwn(projectKeys, key),
  )
  return !isOurs && processes.some(hasCommand) && !processes.some((each) => isGroup(each) && 'cmd' in each)
}

/** Whether a process has its command under the key of process-compose. */
export function hasCommand(process: unknown): boolean {
  return isGroup(process) && 'command' in process && !('cmd' in process)
}

/**
 * Reads a process-compose file with the files it extends, its override and `.env`, and translates it into supervisor settings.
 *
 * @throws CONFIG_UNREADABLE when a file cannot be read, and CONFIG_INVALID when one is not valid
 */
export function readProcessCompose(file: string, sources: ComposeSources): Group {
  const dotEnv = dotEnvOf(join(dirname(file), '.env'), sources)
  const override = file.replace(/\.(ya?ml)$/, '.override.$1')
  const layers = [
    ...extended(file, dotEnv, sources, []),
    ...(sources.isFound && override !== file && existsSync(override)
      ? [readProject(override, dotEnv, sources)]
      : []),
  ]
  const project = layers.reduce(merge)
  return fromProcessCompose(project, {
    file,
    environment: sources.environment,
    dotEnv,
    warn: (message) => void sources.warnings.push(message),
  })
}

/** Returns the projects that a file extends, outermost first, followed by its own. */
function extended(
  file: string,
  dotEnv: Readonly<Record<string, string>>,
  sources: ComposeSources,
  seen: readonly string[],
): readonly Project[] {
  if (seen.includes(file))
    throw configFault('CONFIG_INVALID', `${file} extends itself: ${[...seen, file].join(' → ')}`)
  const project = readProject(file, dotEnv, sources)
  if (project.extends === undefined) return [seen.length === 0 ? project : placedIn(dirname(file), project)]
  const base = extended(resolve(dirname(file), project.extends), dotEnv, sources, [...seen, file])
  return [...base, seen.length === 0 ? project : placedIn(dirname(file), project)]
}

/** Sets the working directory of an extended file's processes to its folder. */
function placedIn(dir: string, project: Project): Project {
  const { processes = {} } = project
  return {
    ...project,
    processes: Object.fromEntries(
      Object.entries(processes).map(([name, one]) => [
        name,
        { ...one, working_dir: resolve(dir, one.working_dir ?? '.') },
      ]),
    ),
  }
}

function readProject(
  file: string,
  dotEnv: Readonly<Record<string, string>>,
  { environment, read }: ComposeSources,
): Project {
  const text = read(file)
  const raw = parseYaml(
    expandVariables(text, (name) => dotEnv[name] ?? environment[name]),
    file,
  )
  const content = raw['disable_env_expansion'] === true ? parseYaml(text, file) : raw
  if (fits(projectSchema, content)) return content
  throw configFault('CONFIG_INVALID', `${file}: ${complaint(projectSchema, content)}`)
}

/** Reads `.env`; ignores an unreadable file with a warning, as process-compose does. */
function dotEnvOf(
  file: string,
  { environment, read, warnings }: ComposeSources,
): Readonly<Record<string, string>> {
  try {
    return readDotEnv(file, environment, read)
  } catch (error) {
    warnings.push(`${file} is ignored: ${messageOf(error)}`)
    return {}
  }
}

/** Merges processes by key and variables by name; for everything else, the later project wins. */
function merge(base: Project, over: Project): Project {
  const processes = { ...base.processes }
  for (const [name, one] of Object.entries(over.processes ?? {})) {
    const before = processes[name]
    processes[name] =
      before === undefined ? one : { ...deepMerge(before, one), ...mergedVariables(before, one) }
  }
  return { ...base, ...over, processes, ...mergedVariables(base, over), vars: { ...base.vars, ...over.vars } }
}

function mergedVariables(
  base: { readonly environment?: Project['environment'] },
  over: { readonly environment?: Project['environment'] },
): { readonly environment?: Group } {
  if (base.environment === undefined && over.environment === undefined) return {}
  return { environment: { ...variablesOf(base.environment), ...variablesOf(over.environment) } }
}

function deepMerge<T extends object>(base: T, over: T): T {
  const before = new Map<string, unknown>(Object.entries(base))
  const changed = Object.entries(over).map(([key, value]: [string, unknown]) => {
    const old = before.get(key)
    return [key, isGroup(old) && isGroup(value) ? deepMerge(old, value) : value]
  })
  return { ...base, ...Object.fromEntries(changed) }
}

function isGroup(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
