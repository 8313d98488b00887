import { readFileSync } from 'node:fs'
import type { Static, TSchema } from 'typebox'
import { type Fault, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { checkSettings, configFault } from './check.ts'
import { type Decoded, decodeSettings } from './decode.ts'
import { settingsFromEnvironment } from './environment.ts'
import { type FileSources, findConfigFile } from './find-file.ts'
import { yaml } from './yaml.ts'

/** Where a program's settings come from, weakest first: defaults, one file, environment, flags. */
export interface ConfigSources<S extends TSchema> extends FileSources {
  /** The prefix of the variables that give settings. */
  readonly environmentPrefix: string
  readonly schema: S
  /** Settings that flags gave, in the file's shape. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Reads a file whose shape is not the schema's; YAML of that shape when left out. */
  readonly read?: (file: string) => Readonly<Record<string, unknown>>
}

/** Checked settings, and the file they came from if there was one. */
export interface LoadedConfig<S extends TSchema> {
  /** In the file's shape. */
  readonly settings: Static<S>
  readonly decoded: Decoded<S>
  readonly file: string | undefined
  /** What a sentence about a setting begins with. */
  readonly source: string
}

/**
 * Reads a program's configuration.
 *
 * @throws CONFIG_UNREADABLE when the named file cannot be read or is no YAML, and CONFIG_INVALID as `checkSettings` says
 */
export function loadConfig<S extends TSchema>(sources: ConfigSources<S>): LoadedConfig<S> {
  const { schema } = sources
  const file = findConfigFile(sources)
  const fromFile = file === undefined ? {} : (sources.read ?? readYaml)(file)
  const fromEnvironment = settingsFromEnvironment(sources.environmentPrefix, schema, sources.environment)
  const source = file ?? 'configuration'
  const merged = merge(merge(fromFile, fromEnvironment), sources.flags ?? {})
  const settings = checkSettings(schema, merged, source)
  return { settings, decoded: decodeSettings(schema, settings), file, source }
}

function readYaml(file: string): Record<string, unknown> {
  try {
    return parseYaml(readFileSync(file, 'utf8'), file)
  } catch (error) {
    throw isFault(error) ? error : unreadable(file, error)
  }
}

/** Keys and values of a YAML text; errors name its file. @throws CONFIG_UNREADABLE */
export function parseYaml(text: string, file: string): Record<string, unknown> {
  let content: unknown
  try {
    content = yaml().parse(text)
  } catch (error) {
    throw unreadable(file, error)
  }
  if (content === null || content === undefined) return {}
  if (!isGroup(content)) {
    throw configFault('CONFIG_UNREADABLE', `config file ${file} must hold keys and values`)
  }
  return content
}

function unreadable(file: string, error: unknown): Fault {
  return configFault(
    'CONFIG_UNREADABLE',
    `config file ${file} cannot be read: ${firstLine(messageOf(error))}`,
    error,
  )
}

/** Below it a mistake in YAML is drawn, for a terminal alone. */
function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.replace(/:$/, '') ?? ''
}

function merge(weaker: Readonly<Record<string, unknown>>, stronger: Readonly<Record<string, unknown>>) {
  const merged: Record<string, unknown> = { ...weaker }
  for (const [key, value] of Object.entries(stronger)) {
    const old = merged[key]
    merged[key] = isGroup(old) && isGroup(value) ? merge(old, value) : value
  }
  return merged
}

function isGroup(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
