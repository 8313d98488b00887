import { dirname, join, relative } from 'node:path'
import micromatch from 'micromatch'
import * as prettier from 'prettier'
import { packageRoot } from '../../lib/process/package.ts'
import { findPrettierConfig, type PrettierConfig } from './prettier-config.ts'

/** Options that affect Java; others concern other languages or name code to run. */
const JAVA_OPTIONS = [
  'printWidth',
  'tabWidth',
  'useTabs',
  'endOfLine',
  'trailingComma',
  'bracketSameLine',
  'objectWrap',
  'experimentalOperatorPosition',
  'requirePragma',
  'insertPragma',
] as const satisfies readonly (keyof prettier.Options)[]

/** Formatting options of a file. */
export interface FormatOptions {
  readonly options: prettier.Options
  /** Whether `.prettierignore` or `.gitignore` in the root ignores the file. */
  readonly isIgnored: boolean
  /** Parts of the project's configuration that are not supported. */
  readonly diagnostics: readonly string[]
}

/**
 * Reads a file's formatting options: `.editorconfig`, then the nearest Prettier configuration. Reads only
 * data and runs no code of the project. Line ends are kept unless configured otherwise.
 *
 * @throws Error when a configuration cannot be read
 */
export async function readFormatOptions(root: string, path: string): Promise<FormatOptions> {
  const config = findPrettierConfig(dirname(path))
  // Prettier gets this package's own package.json, which has no options, instead of searching for files that
  // it would run.
  const emptyConfig = join(packageRoot, 'package.json')
  const [editor, { ignored }] = await Promise.all([
    prettier.resolveConfig(path, { editorconfig: true, config: emptyConfig, useCache: false }),
    prettier.getFileInfo(path, {
      ignorePath: [join(root, '.gitignore'), join(root, '.prettierignore')],
      resolveConfig: false,
    }),
  ])
  const values: Record<string, unknown> = { endOfLine: 'auto', ...editor, ...optionsFor(path, config) }
  const options = Object.fromEntries(
    JAVA_OPTIONS.flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]])),
  )
  return { options, isIgnored: ignored, diagnostics: config?.diagnostics ?? [] }
}

/** Returns the options of a configuration including matching overrides, merged as Prettier does. */
function optionsFor(path: string, config: PrettierConfig | undefined): Readonly<Record<string, unknown>> {
  if (config === undefined) return {}
  const { overrides, ...options } = config.options
  const file = relative(dirname(config.path), path)
  for (const override of Array.isArray(overrides) ? (overrides as unknown[]) : []) {
    const { files, excludeFiles, options: own } = (override ?? {}) as Readonly<Record<string, unknown>>
    if (matches(file, textsOf(files), textsOf(excludeFiles))) Object.assign(options, own)
  }
  return options
}

function matches(file: string, patterns: readonly string[], ignore: readonly string[]): boolean {
  return [true, false].some((basename) => {
    const own = patterns.filter((pattern) => pattern.includes('/') !== basename)
    return own.length > 0 && micromatch.isMatch(file, own, { ignore, basename, dot: true })
  })
}

function textsOf(value: unknown): readonly string[] {
  return [value].flat().filter((each) => typeof each === 'string')
}
