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
  let segments = path.slice(1, isDirectory ? -1 : undefined).split('/')
  if (path.includes('%')) {
    try {
      segments = segments.map(decodeURIComponent)
    } catch {
      return undefined
    }
    if (segments.some((segment) => segment.includes('/'))) return undefined
  }
  return path.startsWith('/') && isKey(segments.join('/')) ? { segments, isDirectory } : undefined
}

/** The path that leads to segments again, encoded; never one that leaves the site. */
export function formatPath(segments: readonly string[], isDirectory: boolean): string {
  if (segments.length === 0) return '/'
  return `/${segments.map(encodeURIComponent).join('/')}${isDirectory ? '/' : ''}`
}
