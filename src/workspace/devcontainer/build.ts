import { posix } from 'node:path'
import type { IsIgnored } from '../dockerfile/ignored-files.ts'
import type { Dockerfile } from '../dockerfile/read-dockerfile.ts'
import { type Findings, isObject, kindOf, pathOf, refuseMore, textOf } from './findings.ts'

const MAX_ARGUMENTS = 256

/** How a devcontainer.json wants its image built. */
export interface BuildReference {
  /** Paths relative to the workspace's directory. */
  readonly file: string
  readonly context: string
  readonly arguments: ReadonlyMap<string, string>
  /** Stage to build; undefined for the last one. */
  readonly target: string | undefined
}

/** An image to build. */
export interface Build extends BuildReference {
  readonly dockerfile: Dockerfile
  /** Content of the context's .dockerignore; undefined if it has none. */
  readonly dockerignore: string | undefined
  readonly isIgnored: IsIgnored
}

/**
 * Returns the settings of `build`, or of the older `dockerFile` and `context`.
 *
 * @param configDir directory of the devcontainer.json relative to the workspace's; undefined for none
 */
export function buildOf(
  valueOf: (key: string) => unknown,
  configDir: string | undefined,
  findings: Findings,
): BuildReference | undefined {
  const { invalid, notes } = findings
  const build = valueOf('build') ?? {}
  if (!isObject(build)) {
    invalid.push(`build is ${kindOf(build)}, not an object, and is ignored`)
    return undefined
  }
  const file = build['dockerfile'] ?? valueOf('dockerFile')
  if (file === undefined) return undefined
  if (configDir === undefined) {
    notes.push('build is not supported in a template; set image')
    return undefined
  }
  const context = build['context'] ?? valueOf('context') ?? '.'
  const [path, contextPath] = [file, context].map((each) =>
    typeof each === 'string' && each !== '' ? posix.join(configDir, each).replace(/\/$/, '') : '..',
  )
  if (path === undefined || contextPath === undefined || [path, contextPath].some(isOutside)) {
    invalid.push('build: the Dockerfile or its context is not a path in the workspace, and it is not built')
    return undefined
  }
  for (const key of ['cacheFrom', 'options'])
    if (build[key] !== undefined) notes.push(`build.${key} is not supported`)
  const { target } = build
  if (target !== undefined && typeof target !== 'string')
    invalid.push('build.target is not a text and is ignored')
  return {
    file: path,
    context: contextPath,
    arguments: argumentsOf(build['args'], findings),
    target: typeof target === 'string' && target !== '' ? target : undefined,
  }
}

function argumentsOf(value: unknown, { invalid }: Findings): ReadonlyMap<string, string> {
  if (value === undefined || value === null) return new Map()
  if (!isObject(value)) {
    invalid.push(`build.args is ${kindOf(value)}, not an object, and is ignored`)
    return new Map()
  }
  const entries = Object.entries(value)
  refuseMore('build.args', 'entries', entries.length, MAX_ARGUMENTS)
  return new Map(
    entries.flatMap(([name, each]) => {
      const text = textOf(each)
      if (text !== undefined && !text.includes('\0')) return [[name, text] as const]
      invalid.push(`${pathOf('build.args', name)} is ${kindOf(each)} and is ignored`)
      return []
    }),
  )
}

function isOutside(path: string): boolean {
  // oxlint-disable-next-line no-control-regex -- a name that spans lines is a mistake or an attack
  return path === '..' || path.startsWith('../') || path.startsWith('/') || /[\0-\x1f\x7f]/.test(path)
}
