import { readFileSync } from 'node:fs'
import type { Static, TSchema } from 'typebox'
import { type Fault, isFault } from '../errors/fault.ts'
import { messageOf } from '../errors/message.ts'
import { checkSettings, configFault } from './check.ts'
import { type Decoded, decodeSettings } from './decode.ts'
import { settingsFromEnvironment } from './environment.ts'
import { type FileSources, findConfigFile } from './find-file.ts'
import { yaml } from './yaml.ts'

/** Sources of a program's settings, in increasing priority: defaults, one file, environment, flags. */
export interface ConfigSources<S extends TSchema> extends FileSources {
  /** Prefix of the environment variables. */
  readonly environmentPrefix: string
  readonly schema: S
  /** Settings given by flags, in the file's shape. */
  readonly flags?: Readonly<Record<string, unknown>>
  /** Reads a file of another format; default: YAML in the schema's shape. */
  readonly read?: (file: string) => Readonly<Record<string, unknown>>
}

/** Validated settings and the file they came from, if any. */
export interface LoadedConfig<S extends TSchema> {
  /** In the file's shape. */
  readonly settings: Static<S>
  readonly decoded: Decoded<S>
  readonly file: string | undefined
  /** Prefix of messages about a setting: the file or the environment. */
  readonly source: string
}

/**
 * Reads a program's configuration.
 *
 * @throws CONFIG_UNREADABLE when the file cannot be read or is not valid YAML, and CONFIG_INVALID like `checkSettings`
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

/** Parses a YAML mapping; errors name its file. @throws CONFIG_UNREADABLE when it is invalid or not a mapping */
export function parseYaml(text: string, file: string): Record<string, unknown> {
  let content: unknown
  try {
    content = yaml().parse(text)
  } catch (error) {
    throw unreadable(file, error)
  }
  if (content === null || content === undefined) return {}
  if (!isGroup(content)) {
    throw configFault('CONFIG_UNREADABLE', `config file ${file} must be a mapping of keys to values`)
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

/** The further lines of a YAML error draw the mistake for a terminal. */
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
