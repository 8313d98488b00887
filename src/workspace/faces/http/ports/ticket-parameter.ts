/** The query parameter that carries a ticket; its name is part of the API. */
const TICKET_PARAMETER = 'workspace-pass'

/** Splits a URL into the ticket it carries and the path without it. */
export function extractTicket(url: string): { readonly ticket: string | undefined; readonly path: string } {
  const at = url.indexOf('?')
  if (at < 0) return { ticket: undefined, path: url }
  const query = url.slice(at + 1).split('&')
  const isTicket = (each: string): boolean => each.startsWith(`${TICKET_PARAMETER}=`)
  // Other parameters keep their original encoding.
  const rest = query.filter((each) => !isTicket(each)).join('&')
  const path = url.slice(0, at)
  return {
    ticket: query.find(isTicket)?.slice(TICKET_PARAMETER.length + 1),
    path: rest === '' ? path : `${path}?${rest}`,
  }
}

/** Adds a ticket to a URL that has no query. */
export function withTicket(url: string, ticket: string | undefined): string {
  return ticket === undefined ? url : `${url}?${TICKET_PARAMETER}=${ticket}`
}
