import { messageOf } from '../../../lib/errors/message.ts'
import { WorkspaceClient } from './client.ts'
import { type ConfiguredServer, findAllServers } from './servers.ts'

/** A server that has not answered by then counts as offline. */
const ANSWER_MS = 5_000

/** What one of several servers said, or why there is nothing. */
export type ServerAnswer<T> = { readonly serverName: string } & (
  { readonly answer: T } | { readonly error: string }
)

/** Asks every configured server at once; one that cannot be asked, or does not answer, spoils nothing. */
export async function askAllServers<T>(path: string): Promise<readonly ServerAnswer<T>[]> {
  const servers = await findAllServers(process.env)
  return Promise.all(servers.map((server) => ask<T>(server, path)))
}

async function ask<T>(server: ConfiguredServer, path: string): Promise<ServerAnswer<T>> {
  const serverName = server.name
  if ('fault' in server) return { serverName, error: server.fault.message }
  const signal = AbortSignal.timeout(ANSWER_MS)
  try {
    return { serverName, answer: await new WorkspaceClient(server).get<T>(path, signal) }
  } catch (error) {
    const late = `server ${serverName} at ${server.url} does not answer within ${ANSWER_MS / 1_000} s`
    return { serverName, error: signal.aborted ? late : messageOf(error) }
  }
}
