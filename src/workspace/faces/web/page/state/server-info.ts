import type { Static } from 'typebox'
import type { infoSchema } from '../../../../api/info.ts'
import { fetchJson } from '../server/request.ts'
import { Store } from './store.ts'

/** Information about the server. */
export type ServerInfo = Static<typeof infoSchema>

/** The server's information; undefined until loaded. */
export const serverInfo = new Store<ServerInfo | undefined>(undefined)

/** Loads the server's information. */
export async function loadServerInfo(): Promise<void> {
  serverInfo.set(await fetchJson<ServerInfo>('/api/info'))
}
