import type { SessionStore } from '../../session/session-store.ts'
import type { GlobalOptions } from './global-options.ts'

/** Opens the configured session store, which servers may be using, for work with it. */
export async function inSessionStore(
  { config: file }: GlobalOptions,
  work: (store: SessionStore, nowMs: number) => Promise<void>,
): Promise<void> {
  const [{ loadContentConfig }, { openSessionStore }, { systemClock }] = await Promise.all([
    import('../../config.ts'),
    import('../../session/open-session-store.ts'),
    import('../../../lib/clock/clock.ts'),
  ])
  const { config } = loadContentConfig(process.env, { file })
  const store = await openSessionStore(config.session.location, systemClock)
  try {
    await work(store, systemClock.wallMs())
  } finally {
    await store.close()
  }
}
