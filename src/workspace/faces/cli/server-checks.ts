import { findServerRecord } from '../../../lib/discovery/server-record.ts'
import { isFault } from '../../../lib/errors/fault.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import type { WireTroubles } from '../../api/trouble.ts'
import type { Check } from '../../check.ts'
import { WorkspaceClient } from '../../client/client.ts'

const TIMEOUT_MS = 5_000

/** Returns what a running server's backends cannot do, as failed checks. @param stateDir the server's state directory */
export async function serverChecks(stateDir: string): Promise<readonly Check[]> {
  const name = 'running server'
  const record = await findServerRecord(stateDir)
  if (record === undefined) return [{ name, ok: true, found: 'none', remedy: '' }]
  const { url, tokenFile } = record
  try {
    const client = new WorkspaceClient({ name: 'local', url, tokenFile: tokenFile ?? undefined })
    const { troubles } = await client.get<WireTroubles>(
      '/api/system/troubles',
      AbortSignal.timeout(TIMEOUT_MS),
    )
    if (troubles.length === 0) return [{ name, ok: true, found: 'no trouble', remedy: '' }]
    return troubles.map((trouble) => ({
      name:
        trouble.subject === '' ? `running server: ${trouble.backend}` : `running server: ${trouble.subject}`,
      ok: false,
      isTrouble: true,
      found: `cannot ${trouble.what} (${trouble.message})`,
      remedy: `fix the cause; failed ${trouble.count} times, last at ${trouble.last_at}`,
    }))
  } catch (error) {
    if (isFault(error) && error.code === 'NOT_FOUND')
      return [{ name, ok: true, found: 'of an earlier version, which reports no trouble', remedy: '' }]
    return [
      { name, ok: false, isTrouble: true, found: messageOf(error), remedy: 'see the log of the server' },
    ]
  }
}
