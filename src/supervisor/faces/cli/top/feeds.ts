import { ignore } from '../../../../lib/errors/ignore.ts'
import type { WireLogEntry, WireLogs } from '../../../api/log.ts'
import type { WireRequest } from '../../../api/request.ts'
import type { WireWhy } from '../../../api/why.ts'
import type { SupervisorClient } from '../client.ts'
import { MAX_CHARACTERS, MAX_LINES } from './state/lines.ts'
import type { Event } from './reduce.ts'
import { MAX_REQUESTS } from './state/state.ts'

/** Connection that data of the screen comes from. */
export interface Source {
  readonly client: SupervisorClient
  readonly dispatch: (event: Event) => void
  /** Receives lines one by one, to be shown together. */
  readonly onLine: (entry: WireLogEntry) => void
  /** Resolves when the supervisor responds the next time. */
  readonly whenPolled: () => Promise<void>
}

/** A series of data that is loaded while it is shown. */
export class Feed {
  #key: string | undefined
  #controller = new AbortController()

  /** Loads the series of this key, unless it is being loaded; undefined stops it. */
  want(key: string | undefined, load: (signal: AbortSignal) => Promise<void>): void {
    if (key === this.#key) return
    this.#key = key
    this.#controller.abort()
    this.#controller = new AbortController()
    if (key !== undefined) void load(this.#controller.signal)
  }
}

/** Loads the stored lines of a process, or of all, and follows new ones. Continues after a broken connection. */
export async function followLines(
  { client, dispatch, onLine, whenPolled }: Source,
  process: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams(process === undefined ? {} : { process })
  let afterId: string | undefined
  while (!signal.aborted) {
    try {
      if (afterId === undefined) {
        const limits = { lines: String(MAX_LINES), bytes: String(MAX_CHARACTERS) }
        const past = new URLSearchParams([...query, ...Object.entries(limits)])
        const stored = await client.get<WireLogs>(`/logs?${past.toString()}`, signal)
        if (signal.aborted) return
        dispatch({ is: 'stored', entries: stored.logs })
        afterId = stored.last_id
      }
      await client.follow(
        `/logs/stream?${query.toString()}`,
        ({ event, id, data }) => {
          if (signal.aborted) return
          afterId = id ?? afterId
          if (event === 'message') onLine(data as WireLogEntry)
          else if (event === 'lost') dispatch({ is: 'missed', lines: (data as { lines: number }).lines })
        },
        { signal, afterId },
      )
    } catch {
      // Polling fails too, and reports the reason.
    }
    if (!signal.aborted) await whenPolled()
  }
}

/** Loads the stored requests and follows new ones. Continues after a broken connection. */
export async function followRequests(
  { client, dispatch, whenPolled }: Source,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const { requests } = await client.get<{ readonly requests: readonly WireRequest[] }>(
        `/proxy/requests?limit=${MAX_REQUESTS}`,
        signal,
      )
      if (signal.aborted) return
      dispatch({ is: 'requests', requests, note: '' })
      await client.follow(
        '/proxy/requests/stream',
        ({ event, data }) => {
          if (event === 'message' && !signal.aborted)
            dispatch({ is: 'requested', request: data as WireRequest })
        },
        { signal, afterId: requests[0]?.id ?? '0' },
      )
    } catch (error) {
      const { code, message } = error as { readonly code?: string; readonly message: string }
      if (code === 'PROXY_NOT_ENABLED') dispatch({ is: 'requests', requests: [], note: message })
    }
    if (!signal.aborted) await whenPolled()
  }
}

/** Explains the state of a process each time that the supervisor responds. */
export async function followWhy(
  { client, dispatch, whenPolled }: Source,
  process: string,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const why = await client
      .get<WireWhy>(`/processes/${encodeURIComponent(process)}/why`, signal)
      .catch(ignore('polling fails too, and reports the reason'))
    if (why !== undefined && !signal.aborted) dispatch({ is: 'explained', why })
    await whenPolled()
  }
}
