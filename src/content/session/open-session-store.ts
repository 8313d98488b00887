import type { Clock } from '../../lib/clock/clock.ts'
import type { SessionStore } from './session-store.ts'

/** Location of sessions: a file or a Redis URL. */
export type SessionLocation = { readonly file: string } | { readonly url: string }

/** Opens the configured session store. @throws SESSIONS_UNAVAILABLE when it cannot be opened */
export async function openSessionStore(location: SessionLocation, clock: Clock): Promise<SessionStore> {
  if ('file' in location) {
    const { FileSessionStore } = await import('./file-session-store.ts')
    return FileSessionStore.open(location.file, clock)
  }
  const { RedisSessionStore } = await import('./redis-session-store.ts')
  return RedisSessionStore.open(location.url)
}
