/** What the address after `#` shows; the address is the whole state of where one is, so that it can be kept and sent. */
export type Route =
  | { readonly is: 'list' }
  | { readonly is: 'create' }
  | { readonly is: 'workspace'; readonly name: string }
  | { readonly is: 'terminal'; readonly name: string; readonly session: string | undefined }
  | { readonly is: 'disk' }
  | { readonly is: 'bus' }

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

export const LIST = '#/'
export const CREATE = '#/create'
export const DISK = '#/disk'
export const BUS = '#/bus'

export function workspaceHref(name: string): string {
  return `#/workspaces/${encodeURIComponent(name)}`
}

/** Of a login shell, or of a tmux session. */
export function terminalHref(name: string, session?: string): string {
  const query = session === undefined ? '' : `?session=${encodeURIComponent(session)}`
  return `${workspaceHref(name)}/terminal${query}`
}

/** Text that is no valid encoding names nothing; it is taken as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
