import type { Clock } from '../../lib/clock/clock.ts'
import type { SessionStore } from './session-store.ts'

/** Location of sessions: a file or a Redis URL. */
export type SessionLocation = { readonly file: string } | { readonly url: string }

/** Opens the configured session store. @throws SESSIONS_UNAVAILABLE */
export async function openSessionStore(place: SessionLocation, clock: Clock): Promise<SessionStore> {
  if ('file' in place) {
    const { FileSessionStore } = await import('./file-session-store.ts')
    return FileSessionStore.open(place.file, clock)
  }
  const { RedisSessionStore } = await import('./redis-session-store.ts')
  return RedisSessionStore.open(place.url)
}
