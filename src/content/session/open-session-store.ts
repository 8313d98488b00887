import type { Clock } from '../../lib/clock/clock.ts'
import type { SessionStore } from './session-store.ts'

/** Where sessions are: a file, or a Redis URL. */
export type SessionPlace = { readonly file: string } | { readonly url: string }

/** The store of sessions that the config names. @throws SESSIONS_UNAVAILABLE */
export async function openSessionStore(place: SessionPlace, clock: Clock): Promise<SessionStore> {
  if ('file' in place) {
    const { FileSessionStore } = await import('./file-session-store.ts')
    return FileSessionStore.open(place.file, clock)
  }
  const { RedisSessionStore } = await import('./redis-session-store.ts')
  return RedisSessionStore.open(place.url)
}
