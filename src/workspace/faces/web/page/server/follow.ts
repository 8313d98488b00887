import { readEvents, type StreamEvent } from './event-stream.ts'
import { missingTokens, type Realm, ServerError } from './request.ts'

const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 10_000

/** State of a followed stream. */
export type Connection = { readonly is: 'opening' | 'open' } | { readonly is: 'broken'; readonly why: string }

interface FollowOptions {
  readonly onEvent: (event: StreamEvent) => void
  readonly onConnection?: (connection: Connection) => void
  readonly realm?: Realm
}

/** Follows a stream and reopens it when it breaks. Returns a function that stops following. */
export function follow(path: string, { onEvent, onConnection, realm = 'server' }: FollowOptions): () => void {
  const end = new AbortController()
  const { signal } = end
  const run = async (): Promise<void> => {
    let retryMs = FIRST_RETRY_MS
    const onOpen = (): void => {
      retryMs = FIRST_RETRY_MS
      onConnection?.({ is: 'open' })
    }
    while (!signal.aborted) {
      let why = 'the stream ended'
      try {
        await readEvents(path, onEvent, { signal, onOpen })
      } catch (error) {
        if (signal.aborted) return
        if (error instanceof ServerError) why = error.message
        if (error instanceof ServerError && error.status === 404) return onConnection?.({ is: 'broken', why })
      }
      onConnection?.({ is: 'broken', why })
      await (missingTokens.value.has(realm) ? untilToken(realm, signal) : untilRetry(retryMs, signal))
      retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)
    }
  }
  void run()
  return () => end.abort()
}

/** Resolves after the wait, or earlier when the network comes back or the page becomes visible. */
function untilRetry(waitMs: number, signal: AbortSignal): Promise<void> {
  // Jitter, so that pages do not all reconnect to a restarted server at the same time.
  const ms = waitMs * (0.75 + Math.random() / 2)
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      removeEventListener('online', done)
      document.removeEventListener('visibilitychange', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    addEventListener('online', done)
    document.addEventListener('visibilitychange', done)
    signal.addEventListener('abort', done, { once: true })
  })
}

function untilToken(realm: Realm, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stop = missingTokens.onChange(() => missingTokens.value.has(realm) || done())
    const done = (): void => {
      stop()
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}
