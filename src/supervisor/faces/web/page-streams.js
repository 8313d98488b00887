// How the page speaks to the API: with the token where one is needed, which EventSource cannot send.

const KEY = 'supervisor-token'

export function setToken(token) {
  sessionStorage.setItem(KEY, token)
}

export function request(path, options = {}) {
  const token = sessionStorage.getItem(KEY)
  const headers = { ...options.headers, ...(token && { authorization: `Bearer ${token}` }) }
  return fetch(`/api/v1${path}`, { ...options, headers })
}

/** The answer as JSON; an error has the answer's status. */
export async function ask(path, method = 'GET') {
  const response = await request(path, { method })
  const body = await response.json()
  if (response.ok) return body
  throw Object.assign(new Error(body.error), { status: response.status })
}

/** Follows a stream of events until the signal says so, from behind an event on; goes on where it was when the connection breaks. */
export async function follow(path, onEvents, signal, afterId) {
  let lastId = afterId
  while (!signal.aborted) {
    try {
      const headers = lastId === undefined ? {} : { 'last-event-id': lastId }
      const response = await request(path, { headers, signal })
      if (!response.ok) return
      let rest = ''
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        const blocks = (rest + part.value).split('\n\n')
        rest = blocks.pop()
        const events = blocks.map(parse).filter(({ data }) => data !== undefined)
        lastId = events.findLast(({ id }) => id !== undefined)?.id ?? lastId
        if (events.length > 0) onEvents(events)
      }
    } catch {
      // Told by the processes' list, which fails as well.
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000))
  }
}

function parse(block) {
  const event = { name: 'message', id: undefined, data: undefined }
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) event.data = JSON.parse(line.slice(6))
    else if (line.startsWith('event: ')) event.name = line.slice(7)
    else if (line.startsWith('id: ')) event.id = line.slice(4)
  }
  return event
}
