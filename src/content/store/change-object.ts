import { setTimeout as delay } from 'node:timers/promises'
import { fault } from '../errors.ts'
import { discard, readAll } from './read-object.ts'
import type { Store } from './store.ts'

/** Enough for as many processes that change one object at the same time. */
const MAX_ATTEMPTS = 60
const FIRST_DELAY_MS = 20
const MAX_DELAY_MS = 200

/** An object as read, and how to change it. */
interface Changed<T> {
  readonly key: string
  /** A larger object is passed as a missing one. */
  readonly maxBytes: number
  /** Returns what to write. Called again with the new content if another process wrote first. */
  readonly change: (bytes: Buffer | undefined) => Promise<Change<T>>
}

/** Outcome of reading an object in order to change it. */
export type Change<T> =
  | { readonly is: 'new'; readonly bytes: Uint8Array; readonly result: T }
  | { readonly is: 'same'; readonly result: T }
  /** Another process is about to change the object; the error is thrown if that takes too long. */
  | { readonly is: 'busy'; readonly error: Error }

/**
 * Reads an object, changes it and writes it, unless it has changed meanwhile: then it starts again, after a random
 * delay. All processes change shared objects with this function, so that none overwrites what another has written.
 *
 * @throws PUBLISH_CONFLICT when others change the object all the time
 */
export async function changeObject<T>(store: Store, { key, maxBytes, change }: Changed<T>): Promise<T> {
  let refused: Error | undefined
  let sent: { readonly bytes: Uint8Array; readonly result: T } | undefined
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0) await delay(Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt))
    const { etag, bytes } = await read(store, key, maxBytes)
    // A client that repeats a request after a lost response is refused because of the first one.
    if (sent !== undefined && bytes?.equals(sent.bytes) === true) return sent.result
    const next: Change<T> = await change(bytes)
    if (next.is === 'same') return next.result
    refused = next.is === 'busy' ? next.error : undefined
    if (next.is === 'busy') continue
    sent = next
    const outcome = await store.replace(key, next.bytes, etag, { contentType: 'application/json' })
    if (outcome === 'written') return next.result
  }
  throw (
    refused ??
    fault('PUBLISH_CONFLICT', `other processes changed "${key}" ${MAX_ATTEMPTS} times meanwhile; try again`)
  )
}

async function read(store: Store, key: string, maxBytes: number) {
  const opened = await store.open(key)
  if (typeof opened === 'string') return { etag: undefined, bytes: undefined }
  const { etag } = opened
  if (opened.size <= maxBytes) return { etag, bytes: await readAll(opened) }
  discard(opened)
  return { etag, bytes: undefined }
}
