// The page's API client: it sends the token if required, which EventSource cannot.

const KEY = 'supervisor-token'
const RETRY_MS = 1_000

/** An error response. */
export class ApiError extends Error {
  readonly status: number

  constructor(message: string, status: number) {
    super(message)
    this.status = status
  }
}

/** An event of a stream of the API. */
export interface StreamEvent<Data> {
  readonly name: string
  readonly id: string | undefined
  readonly data: Data
}

/** Stores the token for this tab. */
export function setToken(token: string): void {
  sessionStorage.setItem(KEY, token)
}

function request(path: string, options: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(KEY)
  const headers = new Headers(options.headers)
  if (token) headers.set('authorization', `Bearer ${token}`)
  return fetch(`/api/v1${path}`, { ...options, headers })
}

/** Requests JSON. @throws ApiError for an error response */
export async function ask<Answer>(path: string, method = 'GET'): Promise<Answer> {
  const response = await request(path, { method })
  const body: unknown = await response.json()
  if (response.ok) return body as Answer
  throw new ApiError((body as { readonly error: string }).error, response.status)
}

/**
 * Follows a stream of events, starting after an event, until the signal aborts. Resumes after the last event when the connection
 * breaks.
 */
export async function follow<Data>(
  path: string,
  onEvents: (events: readonly StreamEvent<Data>[]) => void,
  signal: AbortSignal,
  afterId?: string,
): Promise<void> {
  let lastId = afterId
  while (!signal.aborted) {
    try {
      const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
      const response = await request(path, { headers, signal })
      if (!response.ok || response.body === null) return
      let rest = ''
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const blocks = (rest + part.value).split('\n\n')
        rest = blocks.pop() ?? ''
        const events = blocks.flatMap((block) => parse<Data>(block))
        lastId = events.findLast(({ id }) => id !== undefined)?.id ?? lastId
        if (events.length > 0) onEvents(events)
      }
    } catch {
      // The list of processes fails too, and reports the error.
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}

/** Parses a block into its event; none for a comment. */
function parse<Data>(block: string): readonly StreamEvent<Data>[] {
  let name = 'message'
  let id: string | undefined
  let text: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) text = line.slice(6)
    else if (line.startsWith('event: ')) name = line.slice(7)
    else if (line.startsWith('id: ')) id = line.slice(4)
  }
  return text === undefined ? [] : [{ name, id, data: JSON.parse(text) as Data }]
}
