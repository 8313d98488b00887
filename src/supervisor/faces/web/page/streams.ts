// The page's API client: it sends the token if required, which EventSource cannot.

const KEY = 'supervisor-token'
const RETRY_MS = 1_000

/** An error response. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string

  constructor(message: string, status: number, code: string) {
    super(message)
    this.status = status
    this.code = code
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
export async function ask<Answer>(path: string, method = 'GET', body?: object): Promise<Answer> {
  const headers = new Headers(body && { 'content-type': 'application/json' })
  const response = await request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw await errorOf(response)
  return (await response.json()) as Answer
}

async function errorOf(response: Response): Promise<ApiError> {
  const { error, code } = (await response.json()) as { readonly error: string; readonly code: string }
  return new ApiError(error, response.status, code)
}

/**
 * Follows a stream of events, starting after an event, until the signal aborts. Resumes after the last event when the connection
 * breaks.
 *
 * @param onEvents called for events that arrived together; more are read when its promise resolves
 * @param onOpen called when a connection is open, before its events
 * @throws ApiError when the server refuses the stream
 */
export async function follow<Data>(
  path: string,
  onEvents: (events: readonly StreamEvent<Data>[]) => unknown,
  signal: AbortSignal,
  { afterId, onOpen }: { readonly afterId?: string; readonly onOpen?: () => void } = {},
): Promise<void> {
  let lastId = afterId
  while (!signal.aborted) {
    try {
      const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
      const response = await request(path, { headers, signal })
      if (!response.ok || response.body === null) throw await errorOf(response)
      onOpen?.()
      let rest = ''
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const blocks = (rest + part.value).split('\n\n')
        rest = blocks.pop() ?? ''
        const events = blocks.flatMap((block) => parse<Data>(block))
        lastId = events.findLast(({ id }) => id !== undefined)?.id ?? lastId
        if (events.length > 0) await onEvents(events)
      }
    } catch (error) {
      if (error instanceof ApiError) throw error
      // Otherwise the list of processes fails too, and reports the error.
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
