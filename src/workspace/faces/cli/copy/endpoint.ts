import { defineFaults } from '../../../../lib/errors/fault.ts'

/** Creates the errors of copying. */
export const copyFault = defineFaults({ COPY_INVALID: 'invalid', COPY_FAILED: 'internal' })

/** One side of a copy. */
export type Endpoint =
  | { readonly is: 'stream' }
  | { readonly is: 'local'; readonly path: string }
  | { readonly is: 'inside'; readonly workspace: string; readonly path: string }

/**
 * Parses an argument of `cp`: `-` for a tar archive on standard input or output, `NAME:PATH` for a workspace, else a path on
 * this machine. A local name with a colon is written as `./a:b`.
 */
export function parseEndpoint(text: string): Endpoint {
  if (text === '-') return { is: 'stream' }
  const [, workspace, path = ''] = /^([A-Za-z0-9][A-Za-z0-9-]{0,62}):([^]*)$/.exec(text) ?? []
  if (workspace === undefined) return { is: 'local', path: text }
  if (path.includes('\0')) throw copyFault('COPY_INVALID', 'a path must not contain a NUL byte')
  return { is: 'inside', workspace, path: path === '' ? '.' : path }
}

/** A path, split for copying. */
export interface SplitPath {
  readonly parent: string
  /** '' when the path denotes the contents of a directory: `dir/.`, `..`, `/`. */
  readonly base: string
}

/** Splits a path into its parent and last name, without trailing slashes. */
export function splitPath(path: string): SplitPath {
  const trimmed = path.replace(/\/+$/, '')
  const base = trimmed.slice(trimmed.lastIndexOf('/') + 1)
  if (base === '' || base === '.' || base === '..') return { parent: path === '' ? '.' : path, base: '' }
  const parent = trimmed.slice(0, trimmed.length - base.length).replace(/(.)\/+$/, '$1')
  return { parent: parent === '' ? '.' : parent, base }
}
