import { dirname, join, relative } from 'node:path'
import micromatch from 'micromatch'
import * as prettier from 'prettier'
import { packageRoot } from '../../lib/process/package.ts'
import { findPrettierConfig, type PrettierConfig } from './prettier-config.ts'

/** Those that say how Java is written; the others of a project are for its other languages, or name code to run. */
const KNOWN = [
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

export interface FormatOptions {
  readonly options: prettier.Options
  /** Whether `.prettierignore` or `.gitignore` in the root names the file. */
  readonly isIgnored: boolean
  /** What of the project's configuration is not honoured. */
  readonly diagnostics: readonly string[]
}

/**
 * How a file is to be formatted: `.editorconfig`, then the nearest Prettier configuration. Only data is read, and no code of the
 * project is run. Line ends stay as they are unless these say otherwise.
 *
 * @throws Error with a sentence when a configuration cannot be read
 */
export async function readFormatOptions(root: string, path: string): Promise<FormatOptions> {
  const config = findPrettierConfig(dirname(path))
  // Prettier reads this package's own package.json, which says nothing, in place of what it would look for and run.
  const nothing = join(packageRoot, 'package.json')
  const [editor, { ignored }] = await Promise.all([
    prettier.resolveConfig(path, { editorconfig: true, config: nothing, useCache: false }),
    prettier.getFileInfo(path, {
      ignorePath: [join(root, '.gitignore'), join(root, '.prettierignore')],
      resolveConfig: false,
    }),
  ])
  const said: Record<string, unknown> = { endOfLine: 'auto', ...editor, ...optionsFor(path, config) }
  const options = Object.fromEntries(
    KNOWN.flatMap((key) => (said[key] === undefined ? [] : [[key, said[key]]])),
  )
  return { options, isIgnored: ignored, diagnostics: config?.diagnostics ?? [] }
}

/** The options of a configuration with those of its overrides that fit a file, as Prettier joins them. */
function optionsFor(path: string, config: PrettierConfig | undefined): Readonly<Record<string, unknown>> {
  if (config === undefined) return {}
  const { overrides, ...options } = config.options
  const file = relative(dirname(config.path), path)
  for (const override of Array.isArray(overrides) ? (overrides as unknown[]) : []) {
    const { files, excludeFiles, options: own } = (override ?? {}) as Readonly<Record<string, unknown>>
    if (fits(file, textsOf(files), textsOf(excludeFiles))) Object.assign(options, own)
  }
  return options
}

function fits(file: string, patterns: readonly string[], ignore: readonly string[]): boolean {
  return [true, false].some((basename) => {
    const own = patterns.filter((pattern) => pattern.includes('/') !== basename)
    return own.length > 0 && micromatch.isMatch(file, own, { ignore, basename, dot: true })
  })
}

function textsOf(value: unknown): readonly string[] {
  return [value].flat().filter((each) => typeof each === 'string')
}
