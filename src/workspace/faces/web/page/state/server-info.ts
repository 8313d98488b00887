import type { Static } from 'typebox'
import type { infoSchema } from '../../../../api/info.ts'
import { ask } from '../server/request.ts'
import { Store } from './store.ts'

export type ServerInfo = Static<typeof infoSchema>

export const serverInfo = new Store<ServerInfo | undefined>(undefined)

export async function loadServerInfo(): Promise<void> {
  serverInfo.set(await ask<ServerInfo>('/api/info'))
}
