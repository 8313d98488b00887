import { join } from 'node:path'
import { systemClock } from '../../../src/lib/clock/clock.ts'
import { openSessionStore } from '../../../src/content/session/open-session-store.ts'
import { createSecret, createToken } from '../../../src/content/session/service-token.ts'
import { digestOf } from '../../../src/lib/http/secret-form.ts'

/** Creates a token as the command does. @param dir folder of a test's server */
export async function addServiceToken(dir: string, repos: readonly string[], lifetimeMs = 3_600_000) {
  const store = await openSessionStore({ file: join(dir, 'sessions.db') }, systemClock)
  const secret = createSecret()
  const token = createToken({ name: 'ci', repos: [...repos], lifetimeMs }, Date.now())
  if (!(await store.addToken(digestOf(secret), token))) throw new Error('the token exists')
  const revoke = async (): Promise<void> => {
    await store.removeToken('ci')
    await store.close()
  }
  return { secret, revoke }
}
