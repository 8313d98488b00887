import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Static, TSchema } from 'typebox'
import { ignore } from '../../../../lib/errors/ignore.ts'
import { parseJson } from '../../../../lib/schema/parse-json.ts'
import { Type } from '../../../../lib/schema/type.ts'
import { type ApiClient, ApiFailure, checked } from './api-client.ts'

/** The server sends a bookmark about every minute; a watch that is silent for longer is lost. */
const STALL_MS = 90_000
/** The server ends a watch after this time, so that watches spread over several API servers. */
const WATCH_S = 240
const FIRST_RETRY_MS = 200
const LAST_RETRY_MS = 30_000
/** An API server that restarts is back sooner, and what happened meanwhile is not missed. */
const LOST_AFTER_MS = 20_000

const eventSchema = Type.Object({
  type: Type.String(),
  object: Type.Object({
    metadata: Type.Optional(Type.Object({ resourceVersion: Type.Optional(Type.String()) })),
    code: Type.Optional(Type.Integer()),
    reason: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
  }),
})

/** Receives what a watch reports. */
export interface WatchHandlers<T> {
  /** Receives all objects, after which changes may have been missed. */
  readonly onList: (objects: readonly T[]) => void
  readonly onChange: (object: T, isDeleted: boolean) => void
  /** Called when changes arrive again after `onLost`. */
  readonly onBack: () => void
  /** Called when the server has not responded for a while, with the reason. */
  readonly onLost: (error: unknown) => void
}

/** Objects to watch. */
export interface Watched<S extends TSchema> {
  readonly schema: S
  readonly path: string
  readonly selector: string
  readonly stallMs?: number
  readonly lostAfterMs?: number
}

/** The events before this version are no longer available. */
class Expired extends Error {}

/**
 * Lists objects and then follows their changes until the signal aborts. A watch that ends or stalls continues where it was, and
 * lists again when the cluster no longer has what happened since.
 */
export async function followObjects<S extends TSchema>(
  client: ApiClient,
  watched: Watched<S>,
  handlers: WatchHandlers<Static<S>>,
  signal: AbortSignal,
): Promise<void> {
  let version: string | undefined
  let retryMs = FIRST_RETRY_MS
  let failedSinceMs: number | undefined
  let isLost = false
  const progress = (reached: string): void => {
    version = reached
    retryMs = FIRST_RETRY_MS
    failedSinceMs = undefined
    if (isLost) handlers.onBack()
    isLost = false
  }
  while (!signal.aborted) {
    try {
      if (version === undefined) {
        const { path, schema, selector } = watched
        const list = await client.list(schema, path, { labelSelector: selector }, signal)
        handlers.onList(list.items)
        progress(list.resourceVersion)
      }
      await watchOnce(client, watched, version ?? '', handlers, progress, signal)
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof Expired) version = undefined
      else {
        const nowMs = performance.now()
        // Such as missing rights.
        const isRefusal = error instanceof ApiFailure && error.status < 500
        failedSinceMs ??= nowMs
        if (!isLost && (isRefusal || nowMs - failedSinceMs >= (watched.lostAfterMs ?? LOST_AFTER_MS))) {
          isLost = true
          handlers.onLost(error)
        }
      }
      // Spread out, so that many servers do not list at once.
      await delay(retryMs * (0.5 + Math.random()), undefined, { signal }).catch(ignore('the watch was ended'))
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)
    }
  }
}

async function watchOnce<S extends TSchema>(
  client: ApiClient,
  { schema, path, selector, stallMs = STALL_MS }: Watched<S>,
  version: string,
  handlers: WatchHandlers<Static<S>>,
  progress: (version: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = {
    watch: true,
    allowWatchBookmarks: true,
    timeoutSeconds: WATCH_S,
    labelSelector: selector,
    resourceVersion: version,
  }
  const response = await client.open(path, query, signal, stallMs).catch((error: unknown) => {
    throw error instanceof ApiFailure && error.status === 410 ? new Expired() : error
  })
  progress(version)
  try {
    // An error of the response does not reach the reader of lines.
    const lost = new Promise<never>((_, reject) => {
      response.once('error', reject)
      response.once('close', () =>
        response.complete ? undefined : reject(new Error('the watch was cut off')),
      )
    })
    lost.catch(ignore('it is awaited together with each line'))
    const lines = createInterface({ input: response, crlfDelay: Infinity })[Symbol.asyncIterator]()
    for (;;) {
      const { value: line, done } = await Promise.race([lines.next(), lost])
      if (done === true) return
      const event = parseJson(eventSchema, line)
      if (event === undefined) throw new Error('the watch contains an event that is not valid')
      const { type, object } = event
      if (type === 'ERROR') throw object.code === 410 ? new Expired() : new Error(object.message)
      if (type !== 'BOOKMARK') handlers.onChange(checked(schema, object), type === 'DELETED')
      const reached = object.metadata?.resourceVersion
      if (reached !== undefined) progress(reached)
    }
  } finally {
    response.destroy()
  }
}
