import { isKey } from '../store/store.ts'

/** A path of a request, decoded once. */
export interface RequestPath {
  /** Segments between slashes, none of them empty; none at all is the site's root. */
  readonly segments: readonly string[]
  /** Whether it ends with a slash, and so means a directory. */
  readonly isDirectory: boolean
}

/** Takes the path of a request apart; undefined for one that no object can have (threat O4). `path` has no query. */
export function parsePath(path: string): RequestPath | undefined {
  if (path === '/') return { segments: [], isDirectory: true }
  const isDirectory = path.endsWith('/')
  let segments: string[]
  try {
    segments = path
      .slice(1, isDirectory ? -1 : undefined)
      .split('/')
      .map(decodeURIComponent)
  } catch {
    return undefined
  }
  const isSound =
    path.startsWith('/') && segments.every((segment) => !segment.includes('/') && isKey(segment))
  return isSound && isKey(segments.join('/')) ? { segments, isDirectory } : undefined
}

/** The path that leads to segments again, encoded; never one that leaves the site. */
export function formatPath(segments: readonly string[], isDirectory: boolean): string {
  if (segments.length === 0) return '/'
  return `/${segments.map(encodeURIComponent).join('/')}${isDirectory ? '/' : ''}`
}
