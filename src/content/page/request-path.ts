import { isKey } from '../store/store.ts'

/** Path of a request, decoded once. */
export interface RequestPath {
  /** Non-empty segments between slashes; no segments mean the site's root. */
  readonly segments: readonly string[]
  /** Whether it ends with a slash, which means a directory. */
  readonly isDirectory: boolean
}

/** Parses a request's path without its query; undefined if no object can have it (threat O4). */
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

/** Returns the part of an address before its query and fragment. */
export function pathPartOf(address: string): string {
  return /^[^?#]*/.exec(address)?.[0] ?? ''
}

/** Returns the path of a request without its query. */
export function pathOf({ url = '/' }: { readonly url?: string | undefined }): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Returns the name of the repository that a path is in; undefined outside of repositories. */
export function repoOf([first, name]: readonly string[]): string | undefined {
  return first === 'repos' ? name : undefined
}

/** Encodes segments as a path, which never leaves the site. */
export function formatPath(segments: readonly string[], isDirectory: boolean): string {
  if (segments.length === 0) return '/'
  return `/${segments.map(encodeURIComponent).join('/')}${isDirectory ? '/' : ''}`
}
