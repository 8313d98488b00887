import { type Asking, messageOf, request, ServerError } from './request.ts'

/** A server says something every 15 s, if only that it is there; one that is silent for so long is gone. */
const SILENCE_MS = 45_000

export interface StreamEvent {
  readonly name: string
  readonly data: unknown
}

/**
 * Reads a stream of server-sent events to its end. `EventSource` is not used: it cannot send a token.
 *
 * @throws a `ServerError` where there is no such stream, and any error when it breaks off
 */
export async function readEvents(
  path: string,
  onEvent: (event: StreamEvent) => void,
  asking: Asking & { readonly onOpen?: () => void } = {},
): Promise<void> {
  const silence = new AbortController()
  const signals = [silence.signal, ...(asking.signal ? [asking.signal] : [])]
  const signal = AbortSignal.any(signals)
  let alarm = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    const response = await request(path, { ...asking, signal, accept: 'text/event-stream' })
    asking.onOpen?.()
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

/** Undefined for a comment. */
function parseEvent(block: string): StreamEvent | undefined {
  let name = 'message'
  let data: string | undefined
  for (const line of block.split('\n')) {
    if (line.startsWith('data: ')) data = line.slice('data: '.length)
    else if (line.startsWith('event: ')) name = line.slice('event: '.length)
  }
  return data === undefined ? undefined : { name, data: JSON.parse(data) as unknown }
}

/** Does long work, telling how it goes; resolves with its result. @throws a `ServerError`, also for what failed on the way */
export async function followWork<T>(
  path: string,
  asking: Asking,
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
      asking,
    )
  } catch (error) {
    if (error instanceof ServerError) throw error
    throw new ServerError(0, 'UNREACHABLE', messageOf(error))
  }
  if (failure !== undefined) throw failure
  if (result === undefined) throw new ServerError(0, 'UNREACHABLE', 'the server ended before the work did')
  return result.value
}
