import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'yaml'
import { messageOf } from '../errors/message.ts'
import { checkSettings, configFault, type SchemaNode } from './check.ts'
import { settingsFromEnvironment } from './environment.ts'

/** Where a program's settings come from, weakest first: defaults, one file, environment, flags. */
export interface ConfigSources {
  /** The program's name: its folder in the user's config dir and in /etc. */
  readonly program: string
  /** File name inside that folder. */
  readonly fileName?: string
  /** The variable that names the file when no flag does, and the prefix of the others. */
  readonly fileVariable: string
  readonly environmentPrefix: string
  readonly schema: SchemaNode
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The file that a flag named. */
  readonly file?: string | undefined
  /** Settings that flags gave, in the file's shape. */
  readonly flags?: Readonly<Record<string, unknown>>
}

/** Checked settings, and the file they came from if there was one. */
export interface LoadedConfig<T> {
  readonly settings: T
  readonly file: string | undefined
}

/**
 * Reads a program's configuration. Throws CONFIG_UNREADABLE when the named file cannot be read or is no YAML, and
 * CONFIG_INVALID as `checkSettings` says.
 */
export function loadConfig<T>(sources: ConfigSources): LoadedConfig<T> {
  const file = findFile(sources)
  const fromFile = file === undefined ? {} : readYaml(file)
  const fromEnvironment = settingsFromEnvironment(
    sources.environmentPrefix,
    sources.schema,
    sources.environment,
  )
  const merged = merge(merge(fromFile, fromEnvironment), sources.flags ?? {})
  return { settings: checkSettings(sources.schema, merged, file ?? sources.program) as T, file }
}

function findFile(sources: ConfigSources): string | undefined {
  const named = sources.file ?? sources.environment[sources.fileVariable]
  if (named !== undefined && named !== '') return named
  const fileName = sources.fileName ?? 'config.yaml'
  const userDir = sources.environment['XDG_CONFIG_HOME'] ?? join(homedir(), '.config')
  return [userDir, '/etc'].map((dir) => join(dir, sources.program, fileName)).find((path) => existsSync(path))
}

function readYaml(file: string): Record<string, unknown> {
  let content: unknown
  try {
    content = parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw configFault('CONFIG_UNREADABLE', `config file ${file} cannot be read: ${messageOf(error)}`, error)
  }
  if (content === null || content === undefined) return {}
  if (!isGroup(content)) {
    throw configFault('CONFIG_UNREADABLE', `config file ${file} must hold keys and values`)
  }
  return content
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
