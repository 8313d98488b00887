import { type RequestOptions, messageOf, request, ServerError } from './request.ts'

/** The server sends a comment at least every 15 s, so a longer silence means that the connection is lost. */
const SILENCE_MS = 45_000

/** A server-sent event. */
export interface StreamEvent {
  readonly name: string
  readonly data: unknown
}

/**
 * Reads a stream of server-sent events to its end. `EventSource` cannot send a token, so it is not used.
 *
 * @throws a `ServerError` when the stream cannot be opened, and any error when it breaks
 */
export async function readEvents(
  path: string,
  onEvent: (event: StreamEvent) => void,
  options: RequestOptions & { readonly onOpen?: () => void } = {},
): Promise<void> {
  const silence = new AbortController()
  const signals = [silence.signal, ...(options.signal ? [options.signal] : [])]
  const signal = AbortSignal.any(signals)
  let alarm = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await request(path, { ...options, signal, accept: 'text/event-stream' })
    options.onOpen?.()
    if (response.body === null) return
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    let rest = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      clearTimeout(alarm)
      alarm = setTimeout(() => silence.abort(), SILENCE_MS)
      const blocks = (rest + part.value).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event !== undefined) onEvent(event)
      }
    }
  } finally {
    clearTimeout(alarm)
  }
}

/** Parses an event; returns undefined for a comment. */
function parseEvent(block: string): StreamEvent | undefined {
  let name = 'message'
  let data: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data = line.slice('data: '.length)
    else if (line.startsWith('event: ')) name = line.slice('event: '.length)
  }
  return data === undefined ? undefined : { name, data: JSON.parse(data) as unknown }
}

/** Runs a long operation and reports its progress; resolves with its result. @throws a `ServerError` */
export async function followWork<T>(
  path: string,
  options: RequestOptions,
  onProgress: (message: string) => void,
): Promise<T> {
  let result: { readonly value: T } | undefined
  let failure: ServerError | undefined
  try {
    await readEvents(
      path,
      ({ name, data }) => {
        if (name === 'progress') onProgress((data as { message: string }).message)
        else if (name === 'complete') result = { value: data as T }
        else if (name === 'error') {
          const { code, message } = data as { code: string; message: string }
          failure = new ServerError(500, code, message)
        }
      },
      options,
    )
  } catch (error) {
    if (error instanceof ServerError) throw error
    throw new ServerError(0, 'UNREACHABLE', messageOf(error))
  }
  if (failure !== undefined) throw failure
  if (result === undefined)
    throw new ServerError(0, 'UNREACHABLE', 'the server closed the connection before the operation finished')
  return result.value
}
