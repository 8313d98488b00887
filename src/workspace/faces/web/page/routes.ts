/** The view selected by the URL's fragment, which holds all navigation state so that links can be bookmarked and shared. */
export type Route =
  | { readonly is: 'list' }
  | { readonly is: 'create' }
  | { readonly is: 'workspace'; readonly name: string }
  | { readonly is: 'terminal'; readonly name: string; readonly session: string | undefined }
  | { readonly is: 'disk' }
  | { readonly is: 'bus' }

/** Parses a URL fragment; unknown ones select the list. */
export function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?')
  const [page, name, part] = path.split('/').map(decode)
  if (page === 'workspaces' && name !== undefined && name !== '') {
    if (part !== 'terminal') return { is: 'workspace', name }
    return { is: 'terminal', name, session: new URLSearchParams(query).get('session') ?? undefined }
  }
  if (page === 'create' || page === 'disk' || page === 'bus') return { is: page }
  return { is: 'list' }
}

/** Link to the list. */
export const LIST = '#/'
/** Link to the page that creates a workspace. */
export const CREATE = '#/create'
/** Link to the disk page. */
export const DISK = '#/disk'
/** Link to the bus page. */
export const BUS = '#/bus'

/** Returns the link to a workspace's page. */
export function workspaceHref(name: string): string {
  return `#/workspaces/${encodeURIComponent(name)}`
}

/** Returns the link to a terminal with a login shell or a tmux session. */
export function terminalHref(name: string, session?: string): string {
  const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
  return `${workspaceHref(name)}/terminal${query}`
}

/** Decodes percent-encoding; returns invalid text unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
