import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import JSON5 from 'json5'
import { parse as parseToml } from 'smol-toml'
import { yaml } from '../../lib/config/yaml.ts'
import { messageOf } from '../../lib/errors/message.ts'

/** A Prettier configuration. */
export interface PrettierConfig {
  /** File that contains it. */
  readonly path: string
  readonly options: Readonly<Record<string, unknown>>
  readonly diagnostics: readonly string[]
}

/** Large enough for any package.json. */
const MAX_BYTES = 2 ** 22

type Read = (text: string) => unknown

/** The parser itself rejects YAML files with exponentially growing aliases. */
const readYaml: Read = (text) => yaml().parse(text) as unknown
const keyOf =
  (read: Read): Read =>
  (text) =>
    (read(text) as { readonly prettier?: unknown } | null)?.prettier
const CODE = ['js', 'ts', 'mjs', 'mts', 'cjs', 'cts']

/** In Prettier's own order: https://prettier.io/docs/configuration */
const FILES: readonly (readonly [name: string, read: Read | 'code'])[] = [
  ['package.json', keyOf(readYaml)],
  ['package.yaml', keyOf(readYaml)],
  ['.prettierrc', readYaml],
  ['.prettierrc.json', readYaml],
  ['.prettierrc.yaml', readYaml],
  ['.prettierrc.yml', readYaml],
  ['.prettierrc.json5', (text) => JSON5.parse<unknown>(text)],
  ...CODE.map((end) => [`.prettierrc.${end}`, 'code'] as const),
  ...CODE.map((end) => [`prettier.config.${end}`, 'code'] as const),
  ['.prettierrc.toml', (text) => parseToml(text)],
]

/**
 * Finds the nearest Prettier configuration in a folder or its parents. Configuration that is or names code is
 * not run (threat A9) but reported as a diagnostic.
 *
 * @throws Error when it cannot be read
 */
export function findPrettierConfig(folder: string): PrettierConfig | undefined {
  for (let at = folder; ; at = dirname(at)) {
    for (const [name, read] of FILES) {
      const found = readConfig(join(at, name), read)
      if (found !== undefined) return found
    }
    if (dirname(at) === at) return undefined
  }
}

function readConfig(path: string, read: Read | 'code'): PrettierConfig | undefined {
  const text = readIfThere(path)
  if (text === undefined) return undefined
  if (read === 'code')
    return ignored(path, `${path} is code and is not run: write the options as JSON, YAML or TOML`)
  let value: unknown
  try {
    value = read(text.startsWith('\u{feff}') ? text.slice(1) : text)
  } catch (error) {
    // A damaged package.json may not configure Prettier at all.
    if (basename(path).startsWith('package.')) return undefined
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string')
    return ignored(path, `${path} names the package "${value}", which is code and is not run`)
  if (typeof value !== 'object' || Array.isArray(value))
    throw new Error(`${path} is not an object of options`)
  const { plugins, ...options } = value as Record<string, unknown>
  const diagnostics =
    plugins === undefined
      ? []
      : [`${path} names plugins, which are code and are not run; the Java plugin is built in`]
  return { path, options, diagnostics }
}

function ignored(path: string, diagnostic: string): PrettierConfig {
  return { path, options: {}, diagnostics: [diagnostic] }
}

function readIfThere(path: string): string | undefined {
  try {
    // A pipe or device could be endless.
    const stat = statSync(path)
    return stat.isFile() && stat.size <= MAX_BYTES ? readFileSync(path, 'utf8') : undefined
  } catch {
    return undefined
  }
}
