import { findServerRecord } from '../../../lib/discovery/server-record.ts'
import { messageOf } from '../../../lib/errors/message.ts'
import type { WireTroubles } from '../../api/trouble.ts'
import type { Check } from '../../check.ts'
import { WorkspaceClient } from '../../client/client.ts'

/** Returns what a running server's backends cannot do, as failed checks. @param stateDir the server's state directory */
export async function serverChecks(stateDir: string): Promise<readonly Check[]> {
  const name = 'running server'
  const record = await findServerRecord(stateDir)
  if (record === undefined) return [{ name, ok: true, found: 'none', remedy: '' }]
  const { url, tokenFile } = record
  try {
    const client = new WorkspaceClient({ name: 'local', url, tokenFile: tokenFile ?? undefined })
    const { troubles } = await client.get<WireTroubles>('/api/system/troubles')
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
    return [
      { name, ok: false, isTrouble: true, found: messageOf(error), remedy: 'see the log of the server' },
    ]
  }
}
